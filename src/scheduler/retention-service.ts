import {
  BLOB_KEPT_MS,
  BLOB_LEFTOVERS_EVERY_MS,
  FIGURES_KEPT_MS,
  RETENTION_BATCH_AGENTS_MAX,
  RETENTION_BATCH_BLOBS_MAX,
  RETENTION_BATCH_CHAINS_MAX,
  RETENTION_BATCH_CODE_MAX,
  RETENTION_BATCH_OUTPUTS_MAX,
  RETENTION_BATCH_ROWS_MAX,
  RETENTION_INTERVAL_MS,
} from '../domain/limits.ts'
import { isBounded, type Retention } from '../domain/retention.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { BlobStore } from '../services/blob/blob-store.ts'
import { migrateOldFiles } from '../services/blob/migrate-blobs.ts'
import { removeBlobLeftovers, removeUnusedBlobs } from '../services/blob/transfer-blobs.ts'
import { removeUnusedCode } from '../services/code/read-code.ts'
import type { Database } from '../store/database.ts'
import { readChainBounds } from '../store/sql/chain/read-chains.sql.ts'
import {
  dropOldCheckpoints,
  removeOldAgentHistory,
  removeOldAgents,
  removeOldChains,
  removeOldDeploymentHistory,
  removeOldDeployments,
  removeOldEvents,
  removeOldFailureGroups,
  removeOldFigures,
  removeOldResubmissions,
  removeOldRevisions,
  removeOldRows,
  removeOldScheduleRuns,
  removeOldStores,
} from '../store/sql/retention.sql.ts'
import { removeEmptyGroups } from '../store/sql/session/session-groups.sql.ts'
import { expireOutputs } from '../store/sql/session/settle-outputs.sql.ts'
import { type BackgroundService, defineMeasuredService, type RunReport } from './background-service.ts'

/** Keeps growing tables within the configured limits. */
export function createRetentionService(context: {
  db: Database
  log: Logger
  metrics: Metrics
  blobs: BlobStore
  /** REPRISE_CHECKPOINT_DIR, where older versions stored what are blobs now. */
  oldDirectory: string
  policy: RetentionPolicy
  codeKeptDays: number
}): BackgroundService {
  const { policy, oldDirectory } = context
  let leftoversAt = 0
  return defineMeasuredService(context, 'remove-old', RETENTION_INTERVAL_MS, async (signal) => {
    const { done } = await removeOld(context, policy, signal)
    const moved = signal.aborted ? 0 : await migrateOldFiles(context, oldDirectory, signal)
    const removed =
      (await removeOutputs(context, signal)) +
      (await removeCode(context, signal)) +
      (await removeBlobs(context, signal))
    let left = 0
    if (performance.now() >= leftoversAt && !signal.aborted) {
      leftoversAt = performance.now() + BLOB_LEFTOVERS_EVERY_MS
      left = await removeBlobLeftovers(context, BLOB_KEPT_MS)
    }
    return { done: done + moved + removed + left }
  })
}

/** Removes outputs whose time is over. Their contents are removed with the other blobs. */
async function removeOutputs({ db, log }: { db: Database; log: Logger }, signal: AbortSignal): Promise<number> {
  const limit = RETENTION_BATCH_OUTPUTS_MAX
  const removed = await drain(signal, limit, () => expireOutputs(db, limit))
  if (removed > 0) log.info({ removed, what: 'outputs' }, `retention: outputs of ${removed} sessions removed`)
  return removed
}

/** Removes the bytes of what was removed before, a day after their last use. */
async function removeBlobs(
  context: { db: Database; blobs: BlobStore; log: Logger },
  signal: AbortSignal,
): Promise<number> {
  const removed = await drain(signal, RETENTION_BATCH_BLOBS_MAX, () => removeUnusedBlobs(context))
  if (removed > 0) context.log.info({ removed, what: 'blobs' }, `retention: ${removed} blobs removed`)
  return removed
}

/** Removes code that no session uses any more. Runs after chains were removed, which may have used it last. */
async function removeCode(
  { db, log, codeKeptDays: keptDays }: { db: Database; log: Logger; codeKeptDays: number },
  signal: AbortSignal,
): Promise<number> {
  const limit = RETENTION_BATCH_CODE_MAX
  const removed = await drain(signal, limit, () => removeUnusedCode(db, { keptDays, limit }))
  if (removed > 0) log.info({ removed, what: 'code' }, `retention: ${removed} uploads of code removed`)
  return removed
}

/** Bounds of the data that would otherwise grow without end. */
export interface RetentionPolicy {
  chains: Retention
  events: Retention
  logs: Retention
  audit: Retention
  agentHistory: Retention
  /** Bound for checkpoints of chains that have succeeded, by age alone. */
  succeededCheckpoints: Retention
  /** Bound for checkpoints of chains that have failed, after all their retries, or were cancelled. */
  failedCheckpoints: Retention
}

/**
 * Removes expired data in transactions of bounded size, one after the other, until nothing is left to remove. Events
 * are removed before the chains that they refer to. Any number of servers may do this at once.
 */
export async function removeOld(
  { db, log }: { db: Database; log: Logger },
  policy: RetentionPolicy,
  signal: AbortSignal,
): Promise<RunReport> {
  const [rows, chains] = [RETENTION_BATCH_ROWS_MAX, RETENTION_BATCH_CHAINS_MAX]
  const steps: [name: keyof RetentionPolicy, remove: (kept: Retention) => Promise<number>][] = [
    ['events', (kept) => drain(signal, rows, () => removeOldEvents(db, kept, rows))],
    ['chains', (kept) => removeChains(db, kept, signal)],
    ['logs', (kept) => drain(signal, rows, () => removeOldRows(db, 'logs', kept, rows))],
    ['audit', (kept) => drain(signal, rows, () => removeOldRows(db, 'audit', kept, rows))],
    ['agentHistory', (kept) => drain(signal, rows, () => removeOldAgentHistory(db, kept, rows))],
    [
      'succeededCheckpoints',
      (kept) => drain(signal, chains, () => dropOldCheckpoints(db, ['SUCCEEDED'], kept, chains)),
    ],
    [
      'failedCheckpoints',
      (kept) => drain(signal, chains, () => dropOldCheckpoints(db, ['FAILED', 'CANCELLED'], kept, chains)),
    ],
  ]
  let done = 0
  for (const [name, remove] of steps) {
    if (signal.aborted || !isBounded(policy[name])) continue
    const removed = await remove(policy[name])
    if (removed > 0) log.info({ removed, what: name }, `retention: ${removed} of ${name} removed`)
    done += removed
  }
  const sums = await drain(signal, rows, () => removeOldFigures(db, FIGURES_KEPT_MS, rows))
  return { done: done + sums }
}

/**
 * Removes the chains of each project by its own bound, then old deployments, revisions, deployment history, runs of
 * schedules and groups of failures, then resubmissions, agents and their stores.
 */
async function removeChains(db: Database, kept: Retention, signal: AbortSignal): Promise<number> {
  const rows = RETENTION_BATCH_ROWS_MAX
  let done = 0
  const bounds = await readChainBounds(db, kept)
  for (const bound of bounds) {
    done += await drain(signal, RETENTION_BATCH_CHAINS_MAX, () =>
      removeOldChains(db, bound, RETENTION_BATCH_CHAINS_MAX),
    )
    for (const remove of [
      removeOldDeployments,
      removeOldRevisions,
      removeOldDeploymentHistory,
      removeOldScheduleRuns,
      removeOldFailureGroups,
    ]) {
      done += await drain(signal, rows, () => remove(db, bound, rows))
    }
  }
  done += await drain(signal, rows, () => removeEmptyGroups(db, rows))
  if (bounds.length === 0) return done
  // Resubmissions and agents belong to no project; a resubmission may span all projects.
  const before = new Date(Math.min(...bounds.map((bound) => bound.before.getTime())))
  done += await drain(signal, rows, () => removeOldResubmissions(db, before, rows))
  const agents = RETENTION_BATCH_AGENTS_MAX
  done += await drain(signal, agents, () => removeOldAgents(db, before, agents))
  return done + (await drain(signal, agents, () => removeOldStores(db, agents)))
}

/** Removes batch after batch until one is not full. */
async function drain(signal: AbortSignal, batch: number, remove: () => Promise<number>): Promise<number> {
  let done = 0
  for (;;) {
    const removed = await remove()
    done += removed
    if (removed < batch || signal.aborted) return done
  }
}
