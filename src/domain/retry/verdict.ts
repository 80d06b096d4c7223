import type { SessionEventType } from '../events.ts'
import type { FailureCause } from '../session/failure.ts'
import type { GpuNeed } from '../gpu.ts'

export interface RetryVerdict {
  phase: 'SUCCEEDED' | 'NONE' | 'NOT_ELIGIBLE' | 'EXHAUSTED' | 'SCHEDULED'
  /** Null after a success, and if the reason of the failure is malformed. */
  cause: FailureCause | null
  /** Position in the policy's rules, from 0. */
  matchedRule: number | null
  /** Whether a retry of this attempt uses up budget; true if the question does not arise. */
  counted: boolean
  /** These four fields are set with SCHEDULED only. */
  baseMs: number | null
  jitterMs: number | null
  delayMs: number | null
  dueAt: Date | null
  /** Text for people. */
  explanation: string
  /** Values that replace the parent's in the child; null if nothing grows. */
  growth: ChildSize | null
  /** Places that the retry uses last, appended to those that its parent already avoids. */
  avoid: { agents: string[]; groups: string[] }
  /** Agents that are added to those that the parent already excludes. */
  exclude: { agents: string[] }
  /** The event to write in the decision's transaction. */
  emit: RetryVerdictEvent | null
}

export interface ChildSize {
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  /** Missing in decisions of releases in which it could not grow: the child then has its parent's. */
  gpuNeed?: GpuNeed | null
}

export type RetryVerdictEvent = Extract<
  SessionEventType,
  'session.retry_scheduled' | 'session.retry_exhausted' | 'session.retry_succeeded'
>

/** Builds a verdict; fields that are not given get their neutral values. */
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
    exclude: { agents: [] },
    emit: null,
    ...rest,
  }
}
