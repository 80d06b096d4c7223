import type { Hold } from '../domain/retry/admit.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracer } from '../observability/trace.ts'
import type { Refusal } from '../services/retry/decide-session.ts'
import type { DueRetry } from '../store/sql/retry/claim-due-retries.sql.ts'
import type { NewRetry } from '../store/sql/session/session-columns.sql.ts'
import { logOutcomes } from './log-outcomes.ts'

/** The outcome of one batch of due retries. Reported after the commit, so that a rollback reports nothing. */
export interface DispatchOutcome {
  claimed: readonly DueRetry[]
  created: readonly DueRetry[]
  /** Children by parent. */
  children: ReadonlyMap<string, NewRetry>
  held: readonly Hold<DueRetry>[]
  /** Refusals by parent. */
  refusals: ReadonlyMap<string, Refusal>
  /** Retries that could only have started later than their policy's `maxElapsed`. */
  exhausted: readonly DueRetry[]
}

export const NOTHING: DispatchOutcome = {
  claimed: [],
  created: [],
  children: new Map(),
  held: [],
  refusals: new Map(),
  exhausted: [],
}

export function countDispatched({ retries }: Metrics, outcome: DispatchOutcome, tookMs: number): void {
  const { created, held, refusals, exhausted } = outcome
  retries.dispatched.inc(created.length)
  retries.refused.inc(refusals.size)
  for (const { cause } of exhausted) retries.exhausted.inc({ cause })
  for (const { retry, reason } of held) if (retry.holdReason !== reason) retries.held.inc({ reason })
  for (const { holdReason, lateMs } of created) if (holdReason === null) retries.lag.observe((lateMs + tookMs) / 1000)
}

export function logDispatched(log: Logger, outcome: DispatchOutcome): void {
  const { claimed, created, children, held, refusals, exhausted } = outcome
  const dispatched = created.map((retry) => {
    const child = children.get(retry.sessionId)!
    return { ids: { ...idsOf(retry), childSessionId: child.id }, message: `retried as attempt ${child.attempt}` }
  })
  const refused = claimed.flatMap((retry) => {
    const refusal = refusals.get(retry.sessionId)
    return refusal ? [{ ids: { ...idsOf(retry), code: refusal.code }, message: `not retried: ${refusal.message}` }] : []
  })
  const late = exhausted.map((retry) => ({
    ids: idsOf(retry),
    message: 'not retried: it would start after maxElapsed',
  }))
  // A retry held for the same reason is examined again every few seconds; only the first time is logged.
  const newlyHeld = held
    .filter(({ retry, reason }) => retry.holdReason !== reason)
    .map(({ retry, reason }) => ({ ids: { ...idsOf(retry), reason }, message: `the retry is held: ${reason}` }))
  const summary = () =>
    `${dispatched.length} retried, ${refused.length} refused, ${late.length} exhausted, ${newlyHeld.length} held`
  logOutcomes(log, [...dispatched, ...refused, ...late, ...newlyHeld], summary)
}

export function traceDispatched(trace: Tracer, begunAt: Date, { created, children }: DispatchOutcome): void {
  const sessions = created.map((retry) => {
    const attributes = { 'reprise.child_session.id': children.get(retry.sessionId)!.id }
    return { ...idsOf(retry), traceParent: retry.traceParent, attributes }
  })
  trace.recordBatch('dispatch-retries', begunAt, sessions)
}

function idsOf({ sessionId, chainId, attempt }: DueRetry) {
  return { sessionId, chainId, attempt }
}
