import type { Lease } from '../../domain/agent/lease.ts'
import { CLAIM_BATCH_SESSIONS_MAX, LEFTOVER_AFTER_MS } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database } from '../../store/database.ts'
import { applyMoves, type SessionMove } from '../../store/sql/session/apply-moves.sql.ts'
import {
  claimSessionsWithoutKernels,
  endAbandonedKernels,
  endOrphanedKernels,
  type SessionWithoutKernels,
} from '../../store/sql/session/end-sessions.sql.ts'
import { settleAbandonedOutputs } from '../../store/sql/session/settle-outputs.sql.ts'
import type { RunReport } from '../background-service.ts'

const PHASE = 'sweep-leftovers'

/**
 * Settles outputs that no agent will send, and ends leftovers that no other handler finds: kernels on agents that are gone, kernels of sessions that have ended, and
 * sessions without a kernel that could end them. None of the latter should occur, so they are logged as warnings.
 */
export async function sweepLeftovers(context: {
  db: Database
  wake: Wake
  log: Logger
  lease: Lease
}): Promise<RunReport> {
  const { db, wake, log, lease } = context
  const limit = CLAIM_BATCH_SESSIONS_MAX
  const abandoned = await endAbandonedKernels(db, lease.lostAfterMs, limit)
  const orphans = await endOrphanedKernels(db, LEFTOVER_AFTER_MS, limit)
  const withoutKernels = await db.transaction(async (tx) => {
    const sessions = await claimSessionsWithoutKernels(tx, LEFTOVER_AFTER_MS, limit)
    return applyMoves(tx, PHASE, sessions.map(failureOf))
  })
  const outputs = await settleAbandonedOutputs(db, limit)
  if (abandoned > 0) wake.wake('prepare-sessions', 'start-sessions', 'detect-termination')
  if (abandoned > 0 || withoutKernels.size > 0) wake.wake('terminate-sessions', 'promote-to-terminated')
  if (orphans.length > 0) wake.wakeAgents([...new Set(orphans)])
  if (withoutKernels.size > 0 || outputs > 0) wake.wake('events')
  const done = abandoned + orphans.length + withoutKernels.size
  if (done > 0) {
    const counts = {
      abandonedKernels: abandoned,
      orphanedKernels: orphans.length,
      sessionsWithoutKernels: withoutKernels.size,
    }
    log.warn(counts, 'leftover kernels and sessions were ended')
  }
  return { done: done + outputs, more: Math.max(abandoned, orphans.length, withoutKernels.size, outputs) === limit }
}

function failureOf({ id, status }: SessionWithoutKernels): SessionMove {
  const message = 'it has no kernel left that could end it'
  return {
    id,
    from: status,
    to: 'TERMINATING',
    through: null,
    kernelTo: null,
    kernelFrom: null,
    failedKernelTo: null,
    outcome: 'GIVE_UP',
    tries: 0,
    pauseMs: null,
    rescheduled: false,
    failedAgents: [],
    result: 'FAILURE',
    reason: message,
    statusData: { error: { name: 'kernels-missing', message } },
    pendingReason: null,
    errorCode: 'kernels-missing',
    message,
    agentIds: null,
  }
}
