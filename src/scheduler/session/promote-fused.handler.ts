import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { Tracer } from '../../observability/trace.ts'
import type { Database } from '../../store/database.ts'
import {
  detectEnd,
  promoteToEnd,
  promoteToStart,
  type Ended,
} from '../../store/sql/session/promotion/promote-fused.sql.ts'
import type { RunReport } from '../background-service.ts'

interface PromotionContext {
  db: Database
  wake: Wake
  log: Logger
  trace: Tracer
}

const LIMIT = CLAIM_BATCH_SESSIONS_MAX

/** promote-to-prepared and start-sessions as one step, for sessions whose agents are all alive. */
export async function promoteAndStart({ db, wake, log, trace }: PromotionContext): Promise<RunReport> {
  const begunAt = new Date()
  const debug = log.isLevelEnabled('debug')
  const { moved, waiting, agentIds, started } = await promoteToStart(db, LIMIT, debug)
  if (moved > 0) wake.wake('events')
  if (waiting > 0) wake.wake('start-sessions')
  wake.wakeAgents(agentIds)
  if (debug) {
    for (const { id: sessionId, chainId, attempt } of started) {
      const ids = { handler: 'start-sessions', sessionId, chainId, attempt, outcome: 'SUCCESS' }
      log.debug(ids, 'start-sessions: PREPARED → CREATING')
    }
  }
  const traced = started.map(({ id, ...session }) => {
    return { ...session, sessionId: id, attributes: { 'reprise.status': 'CREATING' } }
  })
  trace.recordBatch('start-sessions', begunAt, traced)
  return { done: moved, more: moved === LIMIT }
}

/** promote-to-running; for sessions that have already ended, also detect-termination and promote-to-terminated. */
export async function promoteAndEnd({ db, wake }: PromotionContext): Promise<RunReport> {
  const ended = await promoteToEnd(db, LIMIT)
  if (ended.running > 0) wake.wake('detect-termination', 'enforce-batch-timeouts')
  return tell(wake, ended)
}

/** detect-termination; for sessions of which nothing is left, also promote-to-terminated. */
export async function detectAndEnd({ db, wake }: PromotionContext): Promise<RunReport> {
  return tell(wake, await detectEnd(db, LIMIT))
}

function tell(wake: Wake, { running, ending, ended, serving }: Ended): RunReport {
  const moved = running + ending + ended
  if (moved > 0) wake.wake('events')
  // One kernel has ended; the other kernels of its session must be stopped.
  if (ending > 0) wake.wake('terminate-sessions', 'promote-to-terminated')
  if (ended > 0) wake.wake('decide-retries')
  if (serving > 0) wake.wake('drive-routes')
  return { done: moved, more: moved === LIMIT }
}
