import type { Draft } from '../../policy/policy-fields.ts'
import { isSecret } from './session-draft.ts'

const KEPT = 'reprise-new-session'

/** What was typed in this tab of a session that was not created, but for its secrets. */
export function keptDraft(): Draft {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? '{}')
    const entries = Object.entries(kept as Record<string, unknown>)
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    // Of another version.
    return {}
  }
}

export function keepDraft(draft: Draft): void {
  const open = Object.entries(draft).filter(([field]) => !isSecret(field))
  if (open.length === 0) sessionStorage.removeItem(KEPT)
  else sessionStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(open)))
}
