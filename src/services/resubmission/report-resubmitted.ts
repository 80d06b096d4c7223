import type { SessionAction } from '../../domain/session/session-action.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import { currentSpan, type TracedSession } from '../../observability/trace.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import type { BatchOutcome } from './run-batch.ts'

const WAKES: Readonly<Record<SessionAction, readonly WakeTopic[]>> = {
  RESUBMIT: ['schedule-sessions'],
  // Other sessions may depend on a chain that has failed for good.
  CANCEL_RETRY: ['schedule-sessions'],
  RETRY_NOW: ['dispatch-retries'],
  TERMINATE: ['terminate-sessions', 'promote-to-terminated', 'decide-retries', 'drive-routes', 'schedule-sessions'],
}

/** After the commit: counts, traces, logs, and wakes the services that now have work. */
export function reportBatch(
  { metrics, log, wake }: Pick<ServiceContext, 'metrics' | 'log' | 'wake'>,
  resubmissionId: string,
  { action, done, created, refusals, superseded, decided, finished }: BatchOutcome,
): void {
  const { retries } = metrics
  retries.resubmitted.inc(created.length)
  if (action === 'RESUBMIT') for (const { code } of refusals) retries.resubmissionRefused.inc({ code })
  retries.cancelled.inc(superseded + decided.filter(({ phase }) => phase === 'CANCELLED').length)
  for (const { phase, cause } of decided) if (phase === 'EXHAUSTED') retries.exhausted.inc({ cause: cause! })
  const about = { resubmissionId, done, refused: refusals.length, finished }
  if (action === 'RESUBMIT') log.info(about, `resubmitted ${done}, refused ${refusals.length}`)
  else log.info({ ...about, action }, `${action} of ${done} sessions, refused ${refusals.length}`)
  if (log.isLevelEnabled('debug')) for (const child of created) logChild(log, resubmissionId, child)
  const span = currentSpan()
  span?.note({ 'reprise.resubmission.id': resubmissionId })
  span?.link(created.map(tracedParent))
  wake.wake(...WAKES[action], 'events', `resubmission:${resubmissionId}`)
}

function logChild(log: Logger, resubmissionId: string, { id, parentSessionId, chainId, attempt }: NewSession): void {
  const ids = { resubmissionId, sessionId: parentSessionId, chainId, childSessionId: id }
  log.debug(ids, `resubmitted as attempt ${attempt}`)
}

/** The session that was resubmitted. */
export function tracedParent({ id, parentSessionId, chainId, attempt, traceParent }: NewSession): TracedSession {
  const attributes = { 'reprise.child_session.id': id }
  return { sessionId: parentSessionId!, chainId, attempt: attempt - 1, traceParent, attributes }
}
