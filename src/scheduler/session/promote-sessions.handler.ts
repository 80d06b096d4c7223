import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import { PROMOTIONS, type PromotionName } from '../../domain/session/handlers.ts'
import type { Wake, WakeTopic } from '../../domain/wake.ts'
import type { Database } from '../../store/database.ts'
import { promoteSessions } from '../../store/sql/session/promotion/promote-sessions.sql.ts'
import type { RunReport } from '../background-service.ts'

/** The services that have work after a promotion. */
const WAKES: Readonly<Record<PromotionName, readonly WakeTopic[]>> = {
  'promote-to-pulling': ['promote-to-prepared'],
  'promote-to-prepared': ['start-sessions'],
  'promote-to-running': ['detect-termination', 'enforce-batch-timeouts'],
  'detect-termination': ['promote-to-terminated'],
  'promote-to-terminated': ['decide-retries'],
}

/** Runs one batch of one promotion: moves sessions whose kernels have the right statuses; the kernels stay. */
export async function promote(context: { db: Database; wake: Wake }, name: PromotionName): Promise<RunReport> {
  const { moved, clusters, serving } = await promoteSessions(context.db, PROMOTIONS[name], CLAIM_BATCH_SESSIONS_MAX)
  if (moved > 0) context.wake.wake('events', ...WAKES[name])
  // One kernel has ended; the other kernels of its session must be stopped.
  if (name === 'detect-termination' && clusters > 0) context.wake.wake('terminate-sessions')
  if (serving > 0) context.wake.wake('drive-routes')
  return { done: moved, more: moved === CLAIM_BATCH_SESSIONS_MAX }
}
