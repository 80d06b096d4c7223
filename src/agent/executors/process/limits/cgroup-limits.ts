import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `cpuacct`, of version 1, sets no limit. It counts CPU time. */
export type Controller = 'memory' | 'pids' | 'cpu' | 'cpuacct'
export type Version = 1 | 2

export interface KernelLimits {
  memoryBytes: number | null
  processes: number
  /** The kernel's share of the processor relative to other kernels; null for the default share of one CPU. */
  cpus: number | null
}

export interface LimitFile {
  name: string
  value: number
  /** The file may be missing, as it is in systems without accounting of swap. */
  optional?: true
}

/**
 * Lists the files to write in a kernel's group, in this order. Shares stay within the range that the system accepts.
 */
export function limitFiles(
  version: Version,
  controllers: ReadonlySet<Controller>,
  { memoryBytes, processes, cpus }: KernelLimits,
): LimitFile[] {
  const files: LimitFile[] = []
  if (controllers.has('pids')) files.push({ name: 'pids.max', value: processes })
  if (controllers.has('cpu') && cpus !== null) files.push(cpuShare(version, cpus))
  if (controllers.has('memory') && memoryBytes !== null) files.push(...memoryLimit(version, memoryBytes))
  return files
}

function cpuShare(version: Version, cpus: number): LimitFile {
  if (version === 2) return { name: 'cpu.weight', value: Math.min(10_000, Math.max(1, Math.round(cpus * 100))) }
  return { name: 'cpu.shares', value: Math.min(262_144, Math.max(2, Math.round(cpus * 1024))) }
}

/** Version 1 limits memory and swap together. Version 2 limits each separately, and kills the whole group at once. */
function memoryLimit(version: Version, value: number): LimitFile[] {
  if (version === 1) {
    return [
      { name: 'memory.limit_in_bytes', value },
      { name: 'memory.memsw.limit_in_bytes', value, optional: true },
    ]
  }
  return [
    { name: 'memory.max', value },
    { name: 'memory.swap.max', value: 0, optional: true },
    { name: 'memory.oom.group', value: 1 },
  ]
}

/** The files in which the operating system counts the usage of a group; null if it does not count it. */
export interface UsageMeters {
  /** Counts the group's peak usage in bytes, including the files that the system caches for it. */
  readonly memory: string | null
  readonly cpu: string | null
}

/**
 * Returns the paths of the meters, which may not exist: `memory.peak` needs Linux 5.19 and the controller. Version 2
 * has one directory for all meters, and counts CPU time even without the cpu controller.
 */
export function metersOf(version: Version, pathOf: (controller: Controller) => string | undefined): UsageMeters {
  const file = (controller: Controller, name: string) => {
    const path = pathOf(controller)
    return path === undefined ? null : join(path, name)
  }
  if (version === 1) {
    return { memory: file('memory', 'memory.max_usage_in_bytes'), cpu: file('cpuacct', 'cpuacct.usage') }
  }
  return { memory: file('memory', 'memory.peak'), cpu: file('cpu', 'cpu.stat') }
}

export function readMeters({ memory, cpu }: UsageMeters): {
  peakMemoryBytes: number | null
  cpuSeconds: number | null
} {
  return { peakMemoryBytes: parsePeak(firstLine(memory)), cpuSeconds: parseCpuMeter(firstLine(cpu)) }
}

export function parsePeak(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null
}

/** Parses CPU time into seconds. Version 2 has a name followed by microseconds, version 1 has nanoseconds. */
export function parseCpuMeter(text: string): number | null {
  const [, microseconds] = /^usage_usec (\d+)$/.exec(text) ?? []
  if (microseconds !== undefined) return Number(microseconds) / 1e6
  return /^\d+$/.test(text) ? Number(text) / 1e9 : null
}

function firstLine(path: string | null): string {
  try {
    return path === null ? '' : readFileSync(path, 'latin1').split('\n', 1)[0]!
  } catch {
    return ''
  }
}
