import { peakResidentBytes, type ProcStat, readPageBytes, scanProcesses } from '../proc-stat.ts'
import { kernelIdOf } from '../leftover-sweep.ts'

/** How long a process that is no kernel's is not asked again; it may become one by another `exec`. */
const STRANGER_FOR_MS = 1_000

/** A kernel whose processes are counted. */
export interface WatchedKernel {
  id: string
  /** It leads its processes. */
  first: Pick<ProcStat, 'pid' | 'startTicks'>
}

export interface Look {
  /** Resident now. */
  bytes: number
  /** The most that one process has had resident so far. */
  largestBytes: number
  ticks: number
}

/**
 * Sums the resident memory of each kernel's processes, in one scan of all processes. Pages shared by several processes
 * are counted for each of them. To a kernel belong the descendants of its first process, that one's process session,
 * and those that left both with its id in their environment.
 *
 * @param strangers who is no kernel's, from one look to the next
 * @returns by id of the kernel
 */
export async function lookAt(
  watched: readonly WatchedKernel[],
  strangers: Map<string, number>,
): Promise<Map<string, Look>> {
  const byFirst = new Map(watched.map(({ id, first }) => [first.pid, id]))
  const pageBytes = readPageBytes()
  const ids = new Set(watched.map(({ id }) => id))
  const oldest = Math.min(...watched.map(({ first }) => first.startTicks))
  const all = new Map(scanProcesses().map((stat) => [stat.pid, stat]))
  const found = new Map<string, Look>()
  const now = performance.now()
  for (const [key, until] of strangers) if (until < now) strangers.delete(key)
  for (const stat of all.values()) {
    const id = ownerOf(stat, all, byFirst) ?? (stat.startTicks < oldest ? undefined : await byEnvironment(stat))
    if (id === undefined) continue
    const before = found.get(id)
    found.set(id, {
      bytes: (before?.bytes ?? 0) + stat.residentPages * pageBytes,
      largestBytes: Math.max(before?.largestBytes ?? 0, peakResidentBytes(stat.pid)),
      ticks: (before?.ticks ?? 0) + stat.ownTicks + stat.waitedTicks,
    })
  }
  return found

  async function byEnvironment(stat: ProcStat): Promise<string | undefined> {
    const key = `${stat.pid} ${stat.startTicks}`
    if (strangers.has(key)) return undefined
    const id = await kernelIdOf(stat)
    if (id !== null && ids.has(id)) return id
    strangers.set(key, now + STRANGER_FOR_MS)
    return undefined
  }
}

function ownerOf(
  stat: ProcStat,
  all: ReadonlyMap<number, ProcStat>,
  byFirst: ReadonlyMap<number, string>,
): string | undefined {
  for (let at: ProcStat | undefined = stat; at !== undefined; at = all.get(at.parent)) {
    const id = byFirst.get(at.pid) ?? byFirst.get(at.session)
    if (id !== undefined) return id
  }
  return undefined
}
