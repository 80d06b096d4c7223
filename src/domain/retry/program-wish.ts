import type { FailureError } from '../session/failure.ts'
import type { VerdictRetry } from '../session/program-verdict.ts'
import type { RetryPolicy } from './policy/policy.ts'

/** What a program's verdict asks of the decision, as far as the policy trusts it. */
export interface ProgramWish {
  retry: VerdictRetry | null
  /** Replaces the formula's base, and a rule's. */
  delaySeconds: number | null
  /** For people; empty if there is nothing to say. */
  note: string
}

export const NO_WISH: ProgramWish = { retry: null, delaySeconds: null, note: '' }

export function programWish(policy: Pick<RetryPolicy, 'trustVerdicts'>, error: FailureError | null): ProgramWish {
  const verdict = error?.verdict
  if (verdict === undefined) return NO_WISH
  if (verdict.fault !== null) return { ...NO_WISH, note: `its verdict file cannot be used: ${verdict.fault}` }
  const { retry, delaySeconds } = verdict
  if (retry === null && delaySeconds === null) return NO_WISH
  const delay = delaySeconds === null ? '' : ` after ${delaySeconds} s`
  const asks = `its program asks for ${retry === null ? 'a retry' : WORDS[retry]}${retry === 'no' ? '' : delay}`
  if (!policy.trustVerdicts) return { ...NO_WISH, note: `${asks}, which trustVerdicts ignores` }
  return { retry, delaySeconds: retry === 'no' ? null : delaySeconds, note: asks }
}

const WORDS: Readonly<Record<VerdictRetry, string>> = {
  no: 'no retry',
  yes: 'a retry',
  uncounted: 'an uncounted retry',
}
