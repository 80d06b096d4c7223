import type { Logger } from '../../observability/log.ts'
import { currentSpan, type TracedSession } from '../../observability/trace.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import type { BatchOutcome } from './resubmit-batch.ts'

/** After the commit: counts, traces, logs, and wakes the services that now have work. */
export function reportResubmitted(
  { metrics, log, wake }: Pick<ServiceContext, 'metrics' | 'log' | 'wake'>,
  resubmissionId: string,
  { created, refusals, superseded, decided, finished }: BatchOutcome,
): void {
  const { retries } = metrics
  const done = created.length
  retries.resubmitted.inc(done)
  for (const { code } of refusals) retries.resubmissionRefused.inc({ code })
  retries.cancelled.inc(superseded + decided.filter(({ phase }) => phase === 'CANCELLED').length)
  for (const { phase, cause } of decided) if (phase === 'EXHAUSTED') retries.exhausted.inc({ cause: cause! })
  log.info(
    { resubmissionId, done, refused: refusals.length, finished },
    `resubmitted ${done}, refused ${refusals.length}`,
  )
  if (log.isLevelEnabled('debug')) for (const child of created) tellChild(log, resubmissionId, child)
  const span = currentSpan()
  span?.note({ 'reprise.resubmission.id': resubmissionId })
  span?.link(created.map(tracedParent))
  wake.wake('schedule-sessions', 'events', `resubmission:${resubmissionId}`)
}

function tellChild(log: Logger, resubmissionId: string, { id, parentSessionId, chainId, attempt }: NewSession): void {
  const ids = { resubmissionId, sessionId: parentSessionId, chainId, childSessionId: id }
  log.debug(ids, `resubmitted as attempt ${attempt}`)
}

/** The session that was resubmitted. */
export function tracedParent({ id, parentSessionId, chainId, attempt, traceParent }: NewSession): TracedSession {
  const attributes = { 'reprise.child_session.id': id }
  return { sessionId: parentSessionId!, chainId, attempt: attempt - 1, traceParent, attributes }
}
