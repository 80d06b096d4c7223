import type { ObservedStatus, SyncRequest } from '../../domain/agent/protocol.ts'
import {
  type KernelChange,
  reconcile,
  type Reconciliation,
  type RecordedKernel,
  survivedOom,
} from '../../domain/agent/reconcile.ts'
import type { KernelStatus } from '../../domain/session/lifecycle.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { ServiceContext } from '../service-context.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { type KernelImage, readImageDigests, recordImageDigests } from '../../store/sql/agent/image-digests.sql.ts'
import type { Queryable } from '../../store/database.ts'
import {
  applyKernelChanges,
  readKernelsIgnoringOom,
  readKernelsThatRunOnce,
  readRecordedKernels,
} from '../../store/sql/agent/sync-agent.sql.ts'

/** The most comparisons of one report, if others change kernels between comparison and write. */
const ROUNDS_MAX = 3

export interface AppliedReport {
  /** The result of the last comparison, which orders the agent to forget only those kernels whose end is recorded. */
  result: Reconciliation
  /** Services that have work because of the changes. */
  topics: WakeTopic[]
}

/**
 * Compares an agent's report with the records, and writes the differences. Returns undefined if this report came late:
 * this or another server has already recorded a newer report of the agent, so this one changes nothing.
 * @param recorded its kernels as of the beginning of the sync; if they change meanwhile, they are read again
 */
export async function applyReport(
  { db, metrics }: Pick<ServiceContext, 'db' | 'metrics'>,
  sync: SyncRequest,
  recorded: readonly RecordedKernel[],
): Promise<AppliedReport | undefined> {
  const topics = new Set<WakeTopic>()
  const digests = await settleDigests(db, sync)
  for (let [round, booked] = [1, recorded]; ; round++) {
    const result = reconcile(sync.agentId, await withPolicies(db, booked, sync.observed), sync.observed, digests)
    if (result.changes.length === 0 && result.stale.length === 0) return { result, topics: [...topics] }
    const applied = await applyKernelChanges(db, sync, result)
    if (!applied) return undefined
    const { changed, missingCheckpoints } = applied
    const made = result.changes.filter(({ id }) => changed.has(id))
    countUsage(metrics, made)
    metrics.checkpointsMissing.inc(missingCheckpoints)
    for (const topic of made.flatMap(topicsOf)) topics.add(topic)
    if (made.length === result.changes.length) return { result, topics: [...topics] }
    if (round === ROUNDS_MAX) return { result: settled(result, changed), topics: [...topics] }
    const observedIds = sync.observed.map(({ kernelId }) => kernelId)
    booked = await readRecordedKernels(db, sync.agentId, observedIds)
  }
}

/** Adds what sessions say about these kernels, where it matters, which is for few. */
async function withPolicies(
  db: Queryable,
  booked: readonly RecordedKernel[],
  observed: SyncRequest['observed'],
): Promise<readonly RecordedKernel[]> {
  const survivors = observed.filter(survivedOom).map(({ kernelId }) => kernelId)
  const present = new Set(observed.map(({ kernelId }) => kernelId))
  const missing = booked.filter(({ id, status }) => status === 'CREATING' && !present.has(id)).map(({ id }) => id)
  if (survivors.length === 0 && missing.length === 0) return booked
  const [ignoring, once] = await Promise.all([
    readKernelsIgnoringOom(db, survivors),
    readKernelsThatRunOnce(db, missing),
  ])
  return booked.map((kernel) => ({
    ...kernel,
    oomIsFailure: !ignoring.has(kernel.id),
    neverRunTwice: once.has(kernel.id),
  }))
}

/**
 * Records reported image digests and returns those that kernels about to start must have. The agent that first reports
 * its kernel's digest decides it.
 */
async function settleDigests(db: Queryable, sync: SyncRequest): Promise<ReadonlyMap<string, string>> {
  const reported = sync.observed.flatMap(({ kernelId, assignment, status, imageDigest }) =>
    imageDigest != null && TELLS_IMAGE.includes(status) ? [{ kernelId, assignment, digest: imageDigest }] : [],
  )
  if (reported.length === 0) return new Map()
  const before = await readImageDigests(db, sync.agentId, reported)
  if (!before.some(({ recorded }) => recorded === null)) return digestsOf(before)
  await recordImageDigests(db, sync, reported)
  return digestsOf(await readImageDigests(db, sync.agentId, reported))
}

const TELLS_IMAGE: readonly ObservedStatus[] = ['PREPARING', 'PULLING', 'PREPARED']

function digestsOf(rows: readonly KernelImage[]): ReadonlyMap<string, string> {
  return new Map(
    rows.flatMap(({ kernelId, recorded, required }): [string, string][] => {
      const digest = recorded ?? required
      return digest === null ? [] : [[kernelId, digest]]
    }),
  )
}

/** Counts the usage of ended kernels. The end of a kernel is recorded once, so it is counted once. */
function countUsage({ used }: Metrics, made: readonly KernelChange[]): void {
  for (const { usage, stopped, to } of made) {
    if (usage === null) continue
    const outcome = stopped ? 'stopped' : to === 'ERROR' ? 'failed' : 'succeeded'
    if (usage.cpuSeconds !== null) used.cpu.inc({ outcome }, usage.cpuSeconds)
    if (usage.wallSeconds !== null) used.wall.inc({ outcome }, usage.wallSeconds)
  }
}

/** Removes results that depend on a change that was not made: an end that is not recorded must not be forgotten. */
function settled(result: Reconciliation, applied: ReadonlySet<string>): Reconciliation {
  const open = new Set(result.changes.flatMap(({ id }) => (applied.has(id) ? [] : [id])))
  return {
    ...result,
    orders: result.orders.filter(({ kernelId }) => !open.has(kernelId)),
    forget: result.forget.filter(({ kernelId }) => !open.has(kernelId)),
  }
}

/**
 * The services that continue with a kernel after this change. The service that moves its session wakes the next ones.
 */
function topicsOf(change: KernelChange): WakeTopic[] {
  // The session may have been ended at the same moment, and then only waits for its kernels.
  if (change.ended) return [...(ENDED_WAKES[change.from] ?? ['promote-to-running']), ...AFTER_ANY_END]
  if (change.error !== null) return ['prepare-sessions', 'start-sessions']
  if (change.to === change.from && !change.gone) return []
  if (change.to === 'PULLING') return ['promote-to-pulling']
  if (change.to === 'PREPARED') return ['promote-to-prepared']
  if (change.to === 'RUNNING') return ['promote-to-running']
  return ['dispatch-retries']
}

const AFTER_ANY_END: readonly WakeTopic[] = ['promote-to-terminated', 'schedule-sessions']

/** Topics by the status of the kernel before it ended. */
const ENDED_WAKES: Partial<Record<KernelStatus, readonly WakeTopic[]>> = {
  RUNNING: ['detect-termination'],
  TERMINATING: [],
}
