import type { ServiceContext } from './service-context.ts'
import type { BatchOutcome } from './resubmit-batch.ts'

/** After the commit: counts, logs, and wakes those who have something to do with it. */
export function tellBatch(
  { metrics, log, wake }: Pick<ServiceContext, 'metrics' | 'log' | 'wake'>,
  resubmissionId: string,
  { done, refusals, superseded, decided, finished }: BatchOutcome,
): void {
  const { retries } = metrics
  retries.resubmitted.inc(done)
  for (const { code } of refusals) retries.resubmissionRefused.inc({ code })
  retries.cancelled.inc(superseded + decided.filter(({ phase }) => phase === 'CANCELLED').length)
  for (const { phase, cause } of decided) if (phase === 'EXHAUSTED') retries.exhausted.inc({ cause: cause! })
  log.info(
    { resubmissionId, done, refused: refusals.length, finished },
    `resubmitted ${done}, refused ${refusals.length}`,
  )
  wake.wake('schedule-sessions', 'events', `resubmission:${resubmissionId}`)
}
