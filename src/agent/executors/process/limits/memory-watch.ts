import { stat as fileStat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { readStatus, writeMark } from '../../kernel-directory/kernel-directory.ts'
import { kernelIdOf } from '../watch/leftover-sweep.ts'
import {
  peakResidentBytes,
  type ProcStat,
  readPageBytes,
  scanProcesses,
  ticksPerSecond,
  uptimeSeconds,
} from '../proc-stat.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { parseStatus } from '../../kernel-directory/shim-status.ts'
import { killKernel } from '../signal-kernel.ts'
import { noteUsage } from '../measure-usage.ts'

/** A program can exceed its limit for this long: about 80 MB if it allocates a gigabyte per second. */
const WATCH_INTERVAL_MS = 80
/** A kernel without a limit is looked at each time that it has grown older by this part, within these bounds. */
const LOOK_SHARE = 0.05
const LOOK_INTERVAL_MAX_MS = 1_000
/** Of its time, at most, the agent spends this part on looks that enforce nothing. */
const COST_SHARE = 0.02
/** What was seen is written down when it has grown by this part. */
const NOTED_GROWTH = 0.2
/** How long a process that is no kernel's is not asked again; it may become one by another `exec`. */
const STRANGER_FOR_MS = 1_000

/**
 * Limits memory without cgroups, and sees what kernels use whose memory no cgroup counts. It sums the resident memory
 * of each kernel's processes, in one scan of all processes, and what it keeps in its own `/dev/shm`. Pages shared by
 * several processes are counted for each of them. To a kernel belong the descendants of its shim, its process session,
 * and those that left both with its id in their environment.
 */
export function createMemoryWatch(host: ProcessHost, enforces: boolean): { wake(): void; close(): void } {
  const strangers = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let dueAt = 0
  let passing = false
  let costMs = 0

  async function pass(): Promise<void> {
    const watched = watchedKernels(host)
    if (watched.length === 0 || host.book.closed) return
    const began = performance.now()
    const found = await lookAt(watched, strangers)
    costMs = performance.now() - began
    for (const kernel of watched) {
      const seen = found.get(kernel)
      if (seen === undefined) continue
      const usedBytes = seen.bytes + (await sharedBytes(kernel))
      if (kernel.phase !== 'RUNNING') continue
      see(host, kernel, Math.max(usedBytes, seen.largestBytes), seen.ticks / ticksPerSecond())
      if (enforces && !kernel.killed && isLimitedHere(host, kernel)) enforce(host, kernel, usedBytes)
    }
  }

  function wake(): void {
    if (passing || host.book.closed) return
    const watched = watchedKernels(host)
    if (watched.length === 0) return
    const limited = enforces && watched.some((kernel) => isLimitedHere(host, kernel))
    const pause = limited ? WATCH_INTERVAL_MS : Math.max(lookPause(watched), costMs / COST_SHARE)
    if (timer !== null && dueAt <= performance.now() + pause) return
    clearTimeout(timer ?? undefined)
    dueAt = performance.now() + pause
    timer = setTimeout(look, pause).unref()
  }

  function look(): void {
    timer = null
    passing = true
    void pass().finally(() => {
      passing = false
      wake()
    })
  }

  return { wake, close: () => clearTimeout(timer ?? undefined) }
}

function watchedKernels(host: ProcessHost): ProcessKernel[] {
  return [...host.book.kernels.values()].filter((kernel) => {
    const { phase, killed, shim, ending } = kernel
    if (phase !== 'RUNNING' || killed || shim === null || ending !== null) return false
    return !isMetered(host, kernel) || isLimitedHere(host, kernel)
  })
}

function isMetered({ cgroups }: ProcessHost, { cgroup }: ProcessKernel): boolean {
  return cgroup !== null && cgroups?.metersMemory === true
}

function isLimitedHere({ cgroups }: ProcessHost, { cgroup, memoryLimitBytes }: ProcessKernel): boolean {
  return memoryLimitBytes !== null && (cgroup === null || cgroups?.limitsMemory !== true)
}

function lookPause(watched: readonly ProcessKernel[]): number {
  const youngest = Math.max(...watched.map(({ shim }) => shim!.startTicks)) / ticksPerSecond()
  const ageMs = (uptimeSeconds() - youngest) * 1_000
  return Math.min(LOOK_INTERVAL_MAX_MS, Math.max(WATCH_INTERVAL_MS, ageMs * LOOK_SHARE))
}

/** CPU time counts what live processes have used and waited for: a later look may miss what has gone unwaited for. */
function see(host: ProcessHost, kernel: ProcessKernel, bytes: number, cpuSeconds: number): void {
  const { seen } = kernel
  const before = seen?.peakMemoryBytes ?? 0
  kernel.seen = {
    peakMemoryBytes: Math.max(before, bytes),
    cpuSeconds: Math.max(seen?.cpuSeconds ?? 0, cpuSeconds),
    wallSeconds: null,
  }
  if (bytes > kernel.notedBytes * (1 + NOTED_GROWTH)) {
    kernel.notedBytes = bytes
    noteUsage(host, kernel, kernel.seen)
  }
}

interface Look {
  /** Resident now. */
  bytes: number
  /** The most that one process has had resident so far. */
  largestBytes: number
  ticks: number
}

async function lookAt(
  watched: readonly ProcessKernel[],
  strangers: Map<string, number>,
): Promise<Map<ProcessKernel, Look>> {
  const byShim = new Map(watched.map((kernel) => [kernel.shim!.pid, kernel]))
  const pageBytes = readPageBytes()
  const byId = new Map(watched.map((kernel) => [kernel.id, kernel]))
  const oldest = Math.min(...watched.map(({ shim }) => shim!.startTicks))
  const all = new Map(scanProcesses().map((stat) => [stat.pid, stat]))
  const found = new Map<ProcessKernel, Look>()
  const now = performance.now()
  for (const [key, until] of strangers) if (until < now) strangers.delete(key)
  for (const stat of all.values()) {
    const kernel = ownerOf(stat, all, byShim) ?? (stat.startTicks < oldest ? undefined : await byEnvironment(stat))
    if (kernel === undefined) continue
    const before = found.get(kernel)
    found.set(kernel, {
      bytes: (before?.bytes ?? 0) + stat.residentPages * pageBytes,
      largestBytes: Math.max(before?.largestBytes ?? 0, peakResidentBytes(stat.pid)),
      ticks: (before?.ticks ?? 0) + stat.ownTicks + stat.waitedTicks,
    })
  }
  return found

  async function byEnvironment(stat: ProcStat): Promise<ProcessKernel | undefined> {
    const key = `${stat.pid} ${stat.startTicks}`
    if (strangers.has(key)) return undefined
    const kernel = byId.get((await kernelIdOf(stat)) ?? '')
    if (kernel === undefined) strangers.set(key, now + STRANGER_FOR_MS)
    return kernel
  }
}

function ownerOf(
  stat: ProcStat,
  all: ReadonlyMap<number, ProcStat>,
  byShim: ReadonlyMap<number, ProcessKernel>,
): ProcessKernel | undefined {
  for (let at: ProcStat | undefined = stat; at !== undefined; at = all.get(at.parent)) {
    const kernel = byShim.get(at.pid) ?? byShim.get(at.session)
    if (kernel !== undefined) return kernel
  }
  return undefined
}

/**
 * The file system is the kernel's alone; where it has none of its own, nobody can tell what is whose. One whose command
 * has not begun may have the machine's at one look and its own at the next, which then seems to hold what the machine's
 * does; and of one that is ending the mount may be gone before the directory.
 */
async function sharedBytes(kernel: ProcessKernel): Promise<number> {
  if (!kernel.namespaced) return 0
  const { innerPid, inside } = parseStatus(readStatus(kernel.path))
  if (innerPid === null || !inside) return 0
  try {
    const path = `/proc/${innerPid}/root/dev/shm`
    const { blocks, bfree, bsize } = await statfs(path)
    const [own, above, machine] = await Promise.all([path, join(path, '..'), '/dev/shm'].map((each) => fileStat(each)))
    return own!.dev === above!.dev || own!.dev === machine!.dev ? 0 : (blocks - bfree) * bsize
  } catch {
    return 0
  }
}

function enforce(host: ProcessHost, kernel: ProcessKernel, usedBytes: number): void {
  const limitBytes = kernel.memoryLimitBytes ?? Number.POSITIVE_INFINITY
  if (usedBytes <= limitBytes) return
  writeMark(kernel.path, 'oom', { usedBytes, limitBytes })
  killKernel(host, kernel)
}
