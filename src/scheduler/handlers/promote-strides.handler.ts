import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { Tracer } from '../../observability/trace.ts'
import type { Database } from '../../store/database.ts'
import { detectEnd, promoteToEnd, promoteToStart, type Ended } from '../../store/sql/promote-strides.sql.ts'
import type { RunReport } from '../background-service.ts'

interface StrideContext {
  db: Database
  wake: Wake
  log: Logger
  trace: Tracer
}

const LIMIT = CLAIM_BATCH_SESSIONS_MAX

/** promote-to-prepared and start-sessions as one step, where no kernel's agent is lost. */
export async function promoteAndStart({ db, wake, log, trace }: StrideContext): Promise<RunReport> {
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

/** promote-to-running and, where they have ended already, what detect-termination and promote-to-terminated do. */
export async function promoteAndEnd({ db, wake }: StrideContext): Promise<RunReport> {
  const ended = await promoteToEnd(db, LIMIT)
  if (ended.running > 0) wake.wake('detect-termination', 'enforce-batch-timeouts')
  return tell(wake, ended)
}

/** detect-termination and, where nothing of the session is left, promote-to-terminated. */
export async function detectAndEnd({ db, wake }: StrideContext): Promise<RunReport> {
  return tell(wake, await detectEnd(db, LIMIT))
}

function tell(wake: Wake, { running, ending, ended, serving }: Ended): RunReport {
  const moved = running + ending + ended
  if (moved > 0) wake.wake('events')
  // One kernel has ended; the others of its session are to be stopped.
  if (ending > 0) wake.wake('terminate-sessions', 'promote-to-terminated')
  if (ended > 0) wake.wake('decide-retries')
  if (serving > 0) wake.wake('drive-routes')
  return { done: moved, more: moved === LIMIT }
}
