import { statfs } from 'node:fs/promises'
import { readStatus, writeMark } from '../../kernel-directory/kernel-directory.ts'
import { kernelIdOf } from '../watch/leftover-sweep.ts'
import { type ProcStat, readPageBytes, scanProcesses } from '../proc-stat.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { parseStatus } from '../../kernel-directory/shim-status.ts'
import { killKernel } from '../signal-kernel.ts'

/** A program can exceed its limit for this long: about 80 MB if it allocates a gigabyte per second. */
const WATCH_INTERVAL_MS = 80
/** How long a process that is no kernel's is not asked again; it may become one by another `exec`. */
const STRANGER_FOR_MS = 1_000

/**
 * Limits memory without cgroups: sums the resident memory of each kernel's processes, in one scan of all processes, and
 * what it keeps in its own `/dev/shm`. Pages shared by several processes are counted for each of them. To a kernel
 * belong the descendants of its shim, its process session, and those that left both with its id in their environment.
 */
export function createMemoryWatch(host: ProcessHost): { wake(): void; close(): void } {
  const pageBytes = readPageBytes()
  const strangers = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null

  async function pass(): Promise<void> {
    const watched = watchedKernels(host)
    if (watched.length === 0 || host.closed) return
    const pages = await residentPages(watched, strangers)
    for (const kernel of watched) {
      const usedBytes = (pages.get(kernel) ?? 0) * pageBytes + (await sharedBytes(kernel))
      if (!kernel.killed && kernel.phase === 'RUNNING') enforce(host, kernel, usedBytes)
    }
  }

  function wake(): void {
    if (timer !== null || host.closed || watchedKernels(host).length === 0) return
    timer = setTimeout(() => {
      void pass().finally(() => {
        timer = null
        wake()
      })
    }, WATCH_INTERVAL_MS).unref()
  }

  return { wake, close: () => clearTimeout(timer ?? undefined) }
}

function watchedKernels(host: ProcessHost): ProcessKernel[] {
  return [...host.kernels.values()].filter(({ phase, memoryLimitBytes, cgroup, killed, shim }) => {
    if (phase !== 'RUNNING' || memoryLimitBytes === null || killed || shim === null) return false
    return cgroup === null || host.cgroups?.limitsMemory !== true
  })
}

async function residentPages(
  watched: readonly ProcessKernel[],
  strangers: Map<string, number>,
): Promise<Map<ProcessKernel, number>> {
  const byShim = new Map(watched.map((kernel) => [kernel.shim!.pid, kernel]))
  const byId = new Map(watched.map((kernel) => [kernel.id, kernel]))
  const oldest = Math.min(...watched.map(({ shim }) => shim!.startTicks))
  const all = new Map(scanProcesses().map((stat) => [stat.pid, stat]))
  const pages = new Map<ProcessKernel, number>()
  const now = performance.now()
  for (const [key, until] of strangers) if (until < now) strangers.delete(key)
  for (const stat of all.values()) {
    const kernel = ownerOf(stat, all, byShim) ?? (stat.startTicks < oldest ? undefined : await byEnvironment(stat))
    if (kernel !== undefined) pages.set(kernel, (pages.get(kernel) ?? 0) + stat.residentPages)
  }
  return pages

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

/** The file system is the kernel's alone; where it has none of its own, nobody can tell what is whose. */
async function sharedBytes(kernel: ProcessKernel): Promise<number> {
  if (!kernel.namespaced) return 0
  const { innerPid } = parseStatus(readStatus(kernel.path))
  if (innerPid === null) return 0
  try {
    const { blocks, bfree, bsize } = await statfs(`/proc/${innerPid}/root/dev/shm`)
    return (blocks - bfree) * bsize
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
