import type { ServiceContext } from '../service-context.ts'
import type { MadeRuns } from './make-runs.ts'

/** After the commit. */
export function wakeForRuns({ wake }: Pick<ServiceContext, 'wake'>, { started, cancelled }: MadeRuns): void {
  if (started.length > 0) wake.wake('schedule-sessions', 'events')
  if (cancelled === 0) return
  // A chain of sessions that had not started has ended already: the run that waits for it may start.
  wake.wake('terminate-sessions', 'promote-to-terminated', 'decide-retries', 'drive-routes', 'events', 'run-schedules')
}
