import { CPU_SECONDS_MAX, PEAK_MEMORY_BYTES_MAX, WALL_SECONDS_MAX } from '../limits.ts'

/**
 * Where an agent has the figures from. CGROUP: the operating system counts memory and CPU time of the kernel as a whole.
 * PROCESSES: at least one of them was put together from its processes, and is not exact.
 */
export const USAGE_SOURCES = ['CGROUP', 'PROCESSES'] as const
export type UsageSource = (typeof USAGE_SOURCES)[number]

/** What a kernel has used, all its processes together; a figure is null if nobody knows it. */
export interface KernelUsage {
  /** The most memory that it held at once, in whole bytes. */
  peakMemoryBytes: number | null
  /** CPU time, user and system. */
  cpuSeconds: number | null
  /** From the start of its program until nothing of it was left. */
  wallSeconds: number | null
  source: UsageSource
}

/**
 * What an agent sent, or null if it tells nothing. Never refused, or the end of a kernel would not be recorded: a figure
 * that is none, is negative or beyond every machine counts as unknown.
 */
export function readKernelUsage(value: unknown): KernelUsage | null {
  if (typeof value !== 'object' || value === null) return null
  const { peakMemoryBytes, cpuSeconds, wallSeconds, source } = value as Record<string, unknown>
  const usage = {
    peakMemoryBytes: figure(peakMemoryBytes, PEAK_MEMORY_BYTES_MAX),
    cpuSeconds: figure(cpuSeconds, CPU_SECONDS_MAX),
    wallSeconds: figure(wallSeconds, WALL_SECONDS_MAX),
  }
  if (Object.values(usage).every((each) => each === null)) return null
  return {
    ...usage,
    peakMemoryBytes: usage.peakMemoryBytes === null ? null : Math.round(usage.peakMemoryBytes),
    source: source === 'CGROUP' ? 'CGROUP' : 'PROCESSES',
  }
}

/** NaN is in no range. */
function figure(value: unknown, max: number): number | null {
  return typeof value === 'number' && value >= 0 && value <= max ? value : null
}

/** What an image is, whatever its name stands for. */
export function isImageDigest(value: unknown): value is string {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
}
