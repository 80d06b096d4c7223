import { stat as fileStat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../../observability/error-message.ts'
import { createPasses, type Passes } from '../../../../waiting/passes.ts'
import { readStatus } from '../../kernels/kernel-directory.ts'
import {
  findProcesses,
  peakResidentBytes,
  readPageBytes,
  type RootedKernel,
  ticksPerSecond,
  uptimeSeconds,
} from '../proc-stat.ts'
import type { ProcessHost, ProcessKernel } from '../process-host.ts'
import { parseStatus } from '../../kernels/shim-status.ts'
import { killKernel } from '../signal-kernel.ts'
import { noteUsage } from '../end-kernel.ts'

/** A program can exceed its limit for this long: about 80 MB if it allocates a gigabyte per second. */
const WATCH_INTERVAL_MS = 80
/**
 * While no limit has to be enforced here, the pause between measurements is this share of the youngest kernel's age,
 * but at least WATCH_INTERVAL_MS and at most LOOK_INTERVAL_MAX_MS.
 */
const LOOK_SHARE = 0.05
const LOOK_INTERVAL_MAX_MS = 1_000
/** Maximum share of the agent's time that is spent on measurements that do not enforce a limit. */
const COST_SHARE = 0.02
/** Usage is written to disk when it has grown by this share. */
const NOTED_GROWTH = 0.2

/**
 * Limits memory without cgroups, and measures kernels whose memory no cgroup counts. Counts the resident memory of each
 * kernel's processes, and the content of its own `/dev/shm`.
 */
export function createMemoryWatch(host: ProcessHost, enforces: boolean): Passes {
  const strangers = new Map<string, number>()
  let costMs = 0

  async function pass(): Promise<void> {
    const watched = watchedKernels(host)
    if (watched.length === 0 || host.registry.closed) return
    const began = performance.now()
    const found = await lookAt(
      watched.map(({ id, shim }) => ({ id, first: shim! })),
      strangers,
    )
    costMs = performance.now() - began
    for (const kernel of watched) {
      const seen = found.get(kernel.id)
      if (seen === undefined) continue
      const usedBytes = seen.bytes + (await sharedBytes(kernel))
      if (kernel.phase !== 'RUNNING') continue
      see(host, kernel, Math.max(usedBytes, seen.largestBytes), seen.ticks / ticksPerSecond())
      if (enforces && !kernel.killed && isLimitedHere(host, kernel)) enforce(host, kernel, usedBytes)
    }
  }

  function pauseMs(): number | null {
    const watched = watchedKernels(host)
    if (watched.length === 0 || host.registry.closed) return null
    const limited = enforces && watched.some((kernel) => isLimitedHere(host, kernel))
    return limited ? WATCH_INTERVAL_MS : Math.max(lookPause(watched), costMs / COST_SHARE)
  }

  return createPasses({
    pauseMs,
    pauseMinMs: WATCH_INTERVAL_MS,
    pass,
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'the memory of kernels could not be measured'),
  })
}

function watchedKernels(host: ProcessHost): ProcessKernel[] {
  return [...host.registry.kernels.values()].filter((kernel) => {
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

/**
 * Records a measurement. CPU time is that of the live processes, and of those of their children that have ended and
 * that they have waited for. The largest value so far is kept: a later one may be smaller, because the time of a
 * process is lost if its parent did not wait for it.
 */
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

/**
 * Returns the bytes in the kernel's own `/dev/shm`. Returns 0 if the kernel has none, because files in the machine's
 * `/dev/shm` cannot be attributed to kernels. Also returns 0 before the command has begun, because the path may lead to
 * the machine's `/dev/shm` until then, and if the mount has already disappeared at the kernel's end.
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
  host.registry.exceededMemory(kernel, { usedBytes, limitBytes })
  killKernel(host, kernel)
}

interface Look {
  /** Present resident memory. */
  bytes: number
  /** Largest resident memory that a single process has had so far. */
  largestBytes: number
  ticks: number
}

/**
 * Sums the resident memory of each kernel's processes, in one scan of all processes. Pages shared by several processes
 * are counted for each of them.
 *
 * @param strangers see `findProcesses`
 * @returns figures by kernel id
 */
export async function lookAt(
  watched: readonly RootedKernel[],
  strangers: Map<string, number>,
): Promise<Map<string, Look>> {
  const pageBytes = readPageBytes()
  const found = new Map<string, Look>()
  for (const { id, stat } of await findProcesses(watched, strangers)) {
    const before = found.get(id)
    found.set(id, {
      bytes: (before?.bytes ?? 0) + stat.residentPages * pageBytes,
      largestBytes: Math.max(before?.largestBytes ?? 0, peakResidentBytes(stat.pid)),
      ticks: (before?.ticks ?? 0) + stat.ownTicks + stat.waitedTicks,
    })
  }
  return found
}
