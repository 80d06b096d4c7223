import type { SyncRequest } from '../domain/agent/protocol.ts'
import { reconcile, type KernelChange, type Reconciliation } from '../domain/agent/reconcile.ts'
import type { KernelStatus } from '../domain/session/statuses.ts'
import type { WakeTopic } from '../domain/wake.ts'
import type { Database } from '../store/database.ts'
import { applyKernelChanges, readBooked } from '../store/sql/sync-agent.sql.ts'

/** Looks at the same report, where kernels are moved by somebody else between look and write. */
const ROUNDS_MAX = 3

export interface BookedReport {
  /** Of the last look: the agent is told to forget only what is settled. */
  result: Reconciliation
  /** Who has work by what was written. */
  topics: WakeTopic[]
}

/**
 * Compares a report with what is booked, and writes what differs. Undefined where a newer report of the agent has
 * been booked, here or by another server: this one was late, and changes nothing.
 */
export async function bookReport(db: Database, sync: SyncRequest): Promise<BookedReport | undefined> {
  const observedIds = sync.observed.map(({ kernelId }) => kernelId)
  const topics = new Set<WakeTopic>()
  for (let round = 1; ; round++) {
    const result = reconcile(sync.agentId, await readBooked(db, sync.agentId, observedIds), sync.observed)
    if (result.changes.length === 0 && result.stale.length === 0) return { result, topics: [...topics] }
    const applied = await applyKernelChanges(db, sync, result)
    if (!applied) return undefined
    const made = result.changes.filter(({ id }) => applied.has(id))
    for (const topic of made.flatMap(topicsOf)) topics.add(topic)
    if (made.length === result.changes.length) return { result, topics: [...topics] }
    if (round === ROUNDS_MAX) return { result: settled(result, applied), topics: [...topics] }
  }
}

/** Without what rests on a change that was not made: an end that is not booked must not be forgotten. */
function settled(result: Reconciliation, applied: ReadonlySet<string>): Reconciliation {
  const open = new Set(result.changes.flatMap(({ id }) => (applied.has(id) ? [] : [id])))
  return {
    ...result,
    orders: result.orders.filter(({ kernelId }) => !open.has(kernelId)),
    forget: result.forget.filter(({ kernelId }) => !open.has(kernelId)),
  }
}

/** Who works on a kernel that changed like this. Whoever moves its session wakes those who come after. */
function topicsOf(change: KernelChange): WakeTopic[] {
  // Somebody may have ended the session in the same instant: then it only waits for its kernels.
  if (change.ended) return [...(ENDED_WAKES[change.from] ?? ['promote-to-running']), ...AFTER_ANY_END]
  if (change.error !== null) return ['prepare-sessions', 'start-sessions']
  if (change.to === 'PULLING') return ['promote-to-pulling']
  if (change.to === 'PREPARED') return ['promote-to-prepared']
  if (change.to === 'RUNNING') return ['promote-to-running']
  return ['dispatch-retries']
}

const AFTER_ANY_END: readonly WakeTopic[] = ['promote-to-terminated', 'schedule-sessions']

/** By what the kernel was before it ended. */
const ENDED_WAKES: Partial<Record<KernelStatus, readonly WakeTopic[]>> = {
  RUNNING: ['detect-termination'],
  TERMINATING: [],
}
