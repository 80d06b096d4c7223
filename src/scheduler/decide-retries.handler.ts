import { CLAIM_BATCH_SESSIONS_MAX } from '../domain/limits.ts'
import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { TracedSession, Tracer } from '../observability/trace.ts'
import { decide } from '../services/retry/decide-session.ts'
import type { Database, Queryable } from '../store/database.ts'
import { claimUndecided, type UndecidedSession } from '../store/sql/retry/claim-undecided.sql.ts'
import { type DecisionRow, recordDecisions } from '../store/sql/retry/record-decisions.sql.ts'
import { wakeDependents } from '../store/sql/session/creation-scope.sql.ts'
import type { RunReport } from './background-service.ts'
import { logOutcomes } from './log-outcomes.ts'

export interface DecideContext {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
  trace: Tracer
}

/**
 * Records a decision for each finished batch session that has none. A session is claimed again until it has a decision,
 * so a crash loses none. Sessions whose kernels have ended by themselves are mostly decided in the transaction that ends
 * them.
 */
export async function decideRetries(context: DecideContext): Promise<RunReport> {
  const begunAt = new Date()
  const decided = await context.db.transaction(async (tx) =>
    decideEnded(tx, await claimUndecided(tx, CLAIM_BATCH_SESSIONS_MAX), context.log),
  )
  announceDecisions(context, decided, begunAt)
  const done = decided.decisions.length
  return { done, more: done === CLAIM_BATCH_SESSIONS_MAX }
}

export interface Decided {
  decisions: DecisionRow[]
  sessions: Sessions
}

/** Decides about sessions that have ended and that the transaction has locked. */
export async function decideEnded(tx: Queryable, ended: readonly UndecidedSession[], log: Logger): Promise<Decided> {
  const decisions = ended.map((session) => decide(session, log))
  await recordDecisions(tx, decisions)
  const sessions = new Map(ended.map((session) => [session.id, session]))
  const last = decisions.filter(
    ({ phase, sessionId }) => phase !== 'SCHEDULED' && sessions.get(sessionId)!.hasDependents,
  )
  await wakeDependents(
    tx,
    last.map(({ chainId }) => chainId),
  )
  return { decisions, sessions }
}

/** Tells the other services, the metrics, the log and the traces. Called after the commit. */
export function announceDecisions(context: DecideContext, { decisions, sessions }: Decided, begunAt: Date): void {
  count(context.metrics, decisions, sessions)
  // Other chains may depend on a chain that has ended now.
  if (decisions.length > 0) context.wake.wake('schedule-sessions', 'events')
  if ([...sessions.values()].some(({ groupId }) => groupId !== null)) context.wake.wake('settle-groups')
  if (decisions.some(({ cause }) => cause !== null)) context.wake.wake('group-failures')
  if (decisions.some(({ phase }) => phase === 'SCHEDULED')) context.wake.wake('dispatch-retries')
  logDecisions(decisions, sessions, context.log)
  context.trace.recordBatch(
    'decide-retries',
    begunAt,
    decisions.map((row) => traced(row, sessions.get(row.sessionId)!)),
  )
}

type Sessions = ReadonlyMap<string, UndecidedSession>

/** Called after the commit, so that a rollback counts nothing. */
function count({ retries }: Metrics, decisions: readonly DecisionRow[], sessions: Sessions): void {
  for (const { phase, cause, sessionId } of decisions) {
    if (phase === 'SCHEDULED') retries.scheduled.inc({ cause: cause! })
    if (phase === 'EXHAUSTED') retries.exhausted.inc({ cause: cause! })
    if (phase === 'SUCCEEDED' && sessions.get(sessionId)!.origin === 'AUTO_RETRY') retries.succeeded.inc()
  }
}

function logDecisions(decisions: readonly DecisionRow[], sessions: Sessions, log: Logger): void {
  const [successes, failures] = [true, false].map((succeeded) =>
    decisions.filter(({ phase }) => (phase === 'SUCCEEDED') === succeeded),
  ) as [DecisionRow[], DecisionRow[]]
  const lines = failures.map(({ sessionId, chainId, phase, cause, explanation }) => {
    const { attempt } = sessions.get(sessionId)!
    return { ids: { sessionId, chainId, attempt, phase, cause }, message: explanation }
  })
  logOutcomes(log, lines, () => {
    const phases = Object.entries(Object.groupBy(failures, ({ phase }) => phase))
    return `${failures.length} failures: ${phases.map(([phase, rows]) => `${rows.length} ${phase}`).join(', ')}`
  })
  if (!log.isLevelEnabled('debug')) return
  for (const { sessionId, chainId } of successes) {
    log.debug({ sessionId, chainId, attempt: sessions.get(sessionId)!.attempt }, 'the chain has succeeded')
  }
}

function traced({ sessionId, chainId, phase, cause }: DecisionRow, session: UndecidedSession): TracedSession {
  const { attempt, traceParent } = session
  const attributes = { 'reprise.retry.phase': phase, ...(cause && { 'reprise.retry.cause': cause }) }
  return { sessionId, chainId, attempt, traceParent, attributes }
}
