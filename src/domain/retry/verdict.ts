import type { SessionEventType } from '../events.ts'
import type { FailureCause } from './causes.ts'

export interface RetryVerdict {
  phase: 'SUCCEEDED' | 'NONE' | 'NOT_ELIGIBLE' | 'EXHAUSTED' | 'SCHEDULED'
  /** Null after a success, and where the failure's reason is malformed. */
  cause: FailureCause | null
  /** Position in the policy's rules, from 0. */
  matchedRule: number | null
  /** Whether a retry of this attempt uses up budget; true where the question does not arise. */
  counted: boolean
  /** These four are set with SCHEDULED alone. */
  baseMs: number | null
  jitterMs: number | null
  delayMs: number | null
  dueAt: Date | null
  /** For people. */
  explanation: string
  /** What the child has instead of its parent's; null where nothing grows. */
  growth: { resourceSlots: Record<string, string>; batchTimeout: number | null } | null
  /** Added to what the parent already avoids. */
  avoid: { agents: string[]; groups: string[] }
  /** The event to write in the decision's transaction. */
  emit: RetryVerdictEvent | null
}

export type RetryVerdictEvent = Extract<
  SessionEventType,
  'session.retry_scheduled' | 'session.retry_exhausted' | 'session.retry_succeeded'
>

/** All that is not given has the value that says nothing. */
export function verdict(
  phase: RetryVerdict['phase'],
  rest: Partial<RetryVerdict> & { explanation: string },
): RetryVerdict {
  return {
    phase,
    cause: null,
    matchedRule: null,
    counted: true,
    baseMs: null,
    jitterMs: null,
    delayMs: null,
    dueAt: null,
    growth: null,
    avoid: { agents: [], groups: [] },
    emit: null,
    ...rest,
  }
}
