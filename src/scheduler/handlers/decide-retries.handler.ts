import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Wake } from '../../domain/wake.ts'
import { decideSession, decisionRow } from '../../services/decide-session.ts'
import type { Database } from '../../store/database.ts'
import { claimUndecided } from '../../store/sql/claim-undecided.sql.ts'
import { recordDecisions, type DecisionRow } from '../../store/sql/record-decisions.sql.ts'
import { rouseDependents } from '../../store/sql/rouse-dependents.sql.ts'
import type { RunReport } from '../background-service.ts'

/**
 * Finished batch session → decision. Level-triggered: a session without a decision is work until it has one,
 * whichever server died in between.
 */
export async function decideRetries(context: {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
}): Promise<RunReport> {
  const { decisions, retried } = await context.db.transaction(async (tx) => {
    const sessions = await claimUndecided(tx, CLAIM_BATCH_SESSIONS_MAX)
    const rows = sessions.map((session) => decisionRow(session, decideSession(session, context.log)))
    await recordDecisions(tx, rows)
    const ended = rows.filter(({ phase }) => phase !== 'SCHEDULED')
    await rouseDependents(
      tx,
      ended.map(({ chainId }) => chainId),
    )
    const byRetry = sessions.filter(({ origin }) => origin === 'AUTO_RETRY')
    return { decisions: rows, retried: new Set(byRetry.map(({ id }) => id)) }
  })
  count(context.metrics, decisions, retried)
  // A chain may have come to its end, and others may depend on it.
  if (decisions.length > 0) context.wake.wake('dispatch-retries', 'schedule-sessions', 'events')
  tell(decisions, context.log)
  return { done: decisions.length, more: decisions.length === CLAIM_BATCH_SESSIONS_MAX }
}

/** After the commit: what was rolled back did not happen. */
function count({ retries }: Metrics, decisions: readonly DecisionRow[], retried: ReadonlySet<string>): void {
  for (const { phase, cause, sessionId } of decisions) {
    if (phase === 'SCHEDULED') retries.scheduled.inc({ cause: cause! })
    if (phase === 'EXHAUSTED') retries.exhausted.inc({ cause: cause! })
    if (phase === 'SUCCEEDED' && retried.has(sessionId)) retries.succeeded.inc()
  }
}

const TOLD_ONE_BY_ONE_MAX = 10

/** A line for each failure, or one for many at once. */
function tell(decisions: readonly DecisionRow[], log: Logger): void {
  const failures = decisions.filter(({ phase }) => phase !== 'SUCCEEDED')
  if (failures.length > TOLD_ONE_BY_ONE_MAX) {
    const phases = Object.entries(Object.groupBy(failures, ({ phase }) => phase))
    log.info(`${failures.length} failures: ${phases.map(([phase, rows]) => `${rows.length} ${phase}`).join(', ')}`)
    return
  }
  for (const { sessionId, chainId, phase, explanation } of failures)
    log.info({ sessionId, chainId, phase }, explanation)
}
