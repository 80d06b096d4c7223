import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/store/database.ts'
import type { BenchGround } from './ground.ts'

const CHECK_INTERVAL_MS = 50
const PROGRESS_INTERVAL_MS = 2_000

const STALLED_AFTER_MS = 30_000

/**
 * Until `statement`, which counts, says `wanted`; says how far it is now and then.
 * @throws where nothing has moved for `stalledAfterMs`
 */
export function countTo(
  ground: BenchGround,
  db: Database,
  what: string,
  statement: string,
  wanted: number,
  stalledAfterMs = STALLED_AFTER_MS,
): Promise<void> {
  const count = async () => (await db.query<{ count: number }>(statement)).rows[0]!.count
  return reachCount(ground, { what, count, wanted, stalledAfterMs })
}

/** The same with a count of any kind. */
export async function reachCount(
  ground: BenchGround,
  {
    what,
    count: read,
    wanted,
    everyMs = CHECK_INTERVAL_MS,
    stalledAfterMs = STALLED_AFTER_MS,
  }: { what: string; count: () => Promise<number>; wanted: number; everyMs?: number; stalledAfterMs?: number },
): Promise<void> {
  let toldAt = performance.now()
  let movedAt = toldAt
  let last = -1
  for (;;) {
    ground.signal.throwIfAborted()
    const count = await read()
    if (count >= wanted) return
    const now = performance.now()
    if (count !== last) movedAt = now
    if (now - movedAt > stalledAfterMs) throw new Error(`${what}: stuck at ${count} of ${wanted}`)
    last = count
    if (now - toldAt > PROGRESS_INTERVAL_MS) {
      ground.progress(`${what}: ${count} of ${wanted}`)
      toldAt = now
    }
    await sleep(everyMs)
  }
}

/** Of values in any order, by nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
