import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { PromotionName } from '../../domain/session/lifecycle.ts'
import type { Wake } from '../../domain/wake.ts'
import { messageOf } from '../../observability/error-message.ts'
import { readEnded } from '../../store/sql/retry/claim-undecided.sql.ts'
import {
  detectEnd,
  type Ended,
  type EndPromotion,
  promoteToEnd,
  promoteToTerminated,
} from '../../store/sql/session/promote-to-end.sql.ts'
import { promoteToPulling } from '../../store/sql/session/promote-to-pulling.sql.ts'
import { promoteToStart } from '../../store/sql/session/promote-to-start.sql.ts'
import type { RunReport } from '../background-service.ts'
import { announceDecisions, type DecideContext, type Decided, decideEnded } from '../decide-retries.handler.ts'

const LIMIT = CLAIM_BATCH_SESSIONS_MAX

/**
 * Runs one batch of one promotion: moves sessions whose kernels have the right statuses, including following steps that
 * nothing can interrupt.
 */
export const PROMOTE: Readonly<Record<PromotionName, (context: DecideContext) => Promise<RunReport>>> = {
  async 'promote-to-pulling'({ db, wake }) {
    const moved = await promoteToPulling(db, LIMIT)
    if (moved > 0) wake.wake('events', 'promote-to-prepared')
    return { done: moved, more: moved === LIMIT }
  },

  /** Also does the work of start-sessions, for sessions whose agents are all alive. */
  async 'promote-to-prepared'({ db, wake, log, trace }) {
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
  },

  /** For sessions that have already ended, also does the work of detect-termination and promote-to-terminated. */
  async 'promote-to-running'(context) {
    const ended = await endAndDecide(context, promoteToEnd)
    if (ended.running > 0) context.wake.wake('detect-termination', 'enforce-batch-timeouts')
    return reportEnded(context.wake, ended)
  },

  /** For sessions without a live kernel, also does the work of promote-to-terminated. */
  async 'detect-termination'(context) {
    return reportEnded(context.wake, await endAndDecide(context, detectEnd))
  },

  async 'promote-to-terminated'(context) {
    return reportEnded(context.wake, await endAndDecide(context, promoteToTerminated))
  },
}

/**
 * Runs a promotion, and decides about the sessions that it ends in the same transaction. If the decisions cannot be
 * recorded, the sessions end without them, and decide-retries decides.
 */
async function endAndDecide(context: DecideContext, promote: EndPromotion): Promise<Ended> {
  const { db, wake, log } = context
  const begunAt = new Date()
  let done: { moved: Ended; decided: Decided }
  try {
    done = await db.transaction(async (tx) => {
      const moved = await promote(tx, LIMIT, true)
      return { moved, decided: await decideEnded(tx, await readEnded(tx, moved.toDecide), log) }
    })
  } catch (error) {
    const moved = await promote(db, LIMIT, false)
    log.warn({ err: error }, `sessions have ended without a decision: ${messageOf(error)}`)
    wake.wake('decide-retries')
    return moved
  }
  announceDecisions(context, done.decided, begunAt)
  return done.moved
}

function reportEnded(wake: Wake, { running, ending, ended, serving }: Ended): RunReport {
  const moved = running + ending + ended
  if (moved > 0) wake.wake('events')
  // One kernel has ended; the other kernels of its session must be stopped.
  if (ending > 0) wake.wake('terminate-sessions', 'promote-to-terminated')
  if (serving > 0) wake.wake('drive-routes')
  return { done: moved, more: moved === LIMIT }
}
