import type { Lease } from '../domain/agent/lease.ts'
import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { SyncPoints } from '../observability/sync-points.ts'
import type { Tracer } from '../observability/trace.ts'
import { reportBatch, tracedParent } from '../services/resubmission/resubmissions.ts'
import { runBatch } from '../services/resubmission/act-on-batch.ts'
import type { Database } from '../store/database.ts'
import { claimResubmission, postponeResubmission } from '../store/sql/resubmission/resubmission-batch.sql.ts'
import type { RunReport } from './background-service.ts'

/**
 * Runs the next batch of the resubmission (or other action on many sessions) that has waited longest. The batch and its
 * progress record are one transaction: a crash undoes both, and the next pass repeats the batch. Each server works on a
 * different resubmission.
 */
export async function resubmitSessions(context: {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
  sync: SyncPoints
  trace: Tracer
  lease: Lease
}): Promise<RunReport> {
  const begunAt = new Date()
  let claimed: string | undefined
  try {
    const outcome = await context.db.transaction(async (tx) => {
      const resubmission = await claimResubmission(tx)
      if (!resubmission) return null
      claimed = resubmission.id
      return runBatch(tx, { ...context, fenceMarginMs: context.lease.fenceMarginMs }, resubmission)
    })
    if (claimed === undefined || !outcome) return { done: 0 }
    reportBatch(context, claimed, outcome)
    context.trace.recordBatch('resubmit-sessions', begunAt, outcome.created.map(tracedParent))
    return { done: outcome.done + outcome.refusals.length, more: true }
  } catch (error) {
    if (claimed !== undefined) await postponeResubmission(context.db, claimed)
    throw error
  }
}
