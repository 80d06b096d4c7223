import { writeMark } from './kernel-directory.ts'
import { readPageBytes, scanProcesses } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'
import { killKernel } from './signal-kernel.ts'

/** A program can exceed its limit for this long: about 80 MB if it allocates a gigabyte per second. */
const WATCH_INTERVAL_MS = 80

/**
 * Limits memory without cgroups: sums the resident memory of the processes in each kernel's session, in one scan of all
 * processes. Pages shared by several processes are counted for each of them.
 */
export function createMemoryWatch(host: ProcessHost): { wake(): void; close(): void } {
  const pageBytes = readPageBytes()
  let timer: NodeJS.Timeout | null = null

  function look(): void {
    timer = null
    const watched = watchedKernels(host)
    if (watched.size === 0 || host.closed) return
    for (const [session, usedBytes] of residentBySession(watched, pageBytes)) {
      const kernel = watched.get(session)
      if (kernel !== undefined) enforce(host, kernel, usedBytes)
    }
    wake()
  }

  function wake(): void {
    if (timer === null && !host.closed) timer = setTimeout(look, WATCH_INTERVAL_MS).unref()
  }

  return { wake, close: () => clearTimeout(timer ?? undefined) }
}

function watchedKernels(host: ProcessHost): Map<number, ProcessKernel> {
  const watched = new Map<number, ProcessKernel>()
  for (const kernel of host.kernels.values()) {
    const limited = kernel.phase === 'RUNNING' && kernel.memoryLimitBytes !== null && kernel.cgroup === null
    if (limited && !kernel.killed && kernel.shim !== null) watched.set(kernel.shim.pid, kernel)
  }
  return watched
}

function residentBySession(watched: ReadonlyMap<number, unknown>, pageBytes: number): Map<number, number> {
  const bytes = new Map<number, number>()
  for (const { session, residentPages } of scanProcesses()) {
    if (watched.has(session)) bytes.set(session, (bytes.get(session) ?? 0) + residentPages * pageBytes)
  }
  return bytes
}

function enforce(host: ProcessHost, kernel: ProcessKernel, usedBytes: number): void {
  const limitBytes = kernel.memoryLimitBytes ?? Number.POSITIVE_INFINITY
  if (usedBytes <= limitBytes) return
  writeMark(kernel.path, 'oom', { usedBytes, limitBytes })
  killKernel(host, kernel)
}
