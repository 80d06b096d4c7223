import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Controller, Version } from './cgroup-limits.ts'

/** The files in which the operating system counts what a group has used; null where it does not. */
export interface UsageMeters {
  /** Its highest use at once, in bytes, with the files that the system keeps in memory for it. */
  readonly memory: string | null
  readonly cpu: string | null
}

/**
 * A file may be missing all the same: `memory.peak` is of Linux 5.19 and needs the controller. Version 2 has one
 * directory for all, and counts CPU time whatever the controllers.
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

/** Of version 2 in microseconds, with their name before them; of version 1 in nanoseconds. In seconds. */
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
