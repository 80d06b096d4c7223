import type { Draft } from '../../policy/policy-fields.ts'
import { isSecret } from './session-draft.ts'

const KEPT = 'reprise-new-'

/** What was typed in this tab of what was not created, but for its secrets. */
export function keptDraft(what: string): Draft {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT + what) ?? '{}')
    const entries = Object.entries(kept as Record<string, unknown>)
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    // Of another version.
    return {}
  }
}

export function keepDraft(what: string, draft: Draft): void {
  const open = Object.entries(draft).filter(([field]) => !isSecret(field))
  if (open.length === 0) sessionStorage.removeItem(KEPT + what)
  else sessionStorage.setItem(KEPT + what, JSON.stringify(Object.fromEntries(open)))
}
