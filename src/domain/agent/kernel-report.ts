import { AGENT_GPUS_MAX, CPU_SECONDS_MAX, NAME_LENGTH_MAX, PEAK_MEMORY_BYTES_MAX, WALL_SECONDS_MAX } from '../limits.ts'
import { toPlainLine } from '../storable-text.ts'
import { type Gpu, GPU_SLOTS, type GpuUsage } from '../gpu.ts'

/**
 * The origin of an agent's usage figures. CGROUP: the operating system accounts memory and CPU time for the whole
 * kernel. PROCESSES: at least one figure was added up from the kernel's processes and is not exact.
 */
export const USAGE_SOURCES = ['CGROUP', 'PROCESSES'] as const
export type UsageSource = (typeof USAGE_SOURCES)[number]

/** Resources used by all processes of a kernel together; a figure is null if it is unknown. */
export interface KernelUsage {
  /** Peak memory in whole bytes. */
  peakMemoryBytes: number | null
  /** User and system CPU time. */
  cpuSeconds: number | null
  /** Time from the start of the program until all of its processes were gone. */
  wallSeconds: number | null
  source: UsageSource
}

/**
 * Reads an agent's usage report; null if it contains no figure. It never throws, because otherwise the end of the
 * kernel would not be recorded: a figure that is not a number, is negative or exceeds any machine counts as unknown.
 */
export function readKernelUsage(value: unknown): KernelUsage | null {
  if (typeof value !== 'object' || value === null) return null
  const { peakMemoryBytes, cpuSeconds, wallSeconds, source } = value as Record<string, unknown>
  const usage = {
    peakMemoryBytes: figure(peakMemoryBytes, PEAK_MEMORY_BYTES_MAX),
    cpuSeconds: rounded(figure(cpuSeconds, CPU_SECONDS_MAX), 1_000_000),
    wallSeconds: rounded(figure(wallSeconds, WALL_SECONDS_MAX), 1_000),
  }
  if (Object.values(usage).every((each) => each === null)) return null
  return {
    ...usage,
    peakMemoryBytes: usage.peakMemoryBytes === null ? null : Math.round(usage.peakMemoryBytes),
    source: source === 'CGROUP' ? 'CGROUP' : 'PROCESSES',
  }
}

/** Reads the GPUs that an agent reports for a kernel; null if there are none, or if a part is not understood. */
export function readGpus(value: unknown): Gpu[] | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > AGENT_GPUS_MAX) return null
  const gpus = value.flatMap((each: unknown): Gpu[] => {
    if (typeof each !== 'object' || each === null) return []
    const { slot, uuid, index, name, memoryBytes } = each as Record<string, unknown>
    const kind = GPU_SLOTS.find((known) => known === slot)
    if (kind === undefined || typeof uuid !== 'string' || !/^[A-Za-z0-9-]{1,80}$/.test(uuid)) return []
    return [
      {
        slot: kind,
        uuid,
        index: figure(index, AGENT_GPUS_MAX) ?? 0,
        name: toPlainLine(name, NAME_LENGTH_MAX) ?? 'GPU',
        memoryBytes: figure(memoryBytes, PEAK_MEMORY_BYTES_MAX),
      },
    ]
  })
  return gpus.length === value.length ? gpus : null
}

/** Reads an agent's report about the use of GPUs. It never throws, like `readKernelUsage`. */
export function readGpuUsage(value: unknown): GpuUsage | null {
  if (typeof value !== 'object' || value === null) return null
  const { peakMemoryBytes, meanUtilization, peakUtilization, energyJoules, gpuSeconds } = value as Record<
    string,
    unknown
  >
  const seconds = rounded(figure(gpuSeconds, WALL_SECONDS_MAX * AGENT_GPUS_MAX), 1_000)
  if (seconds === null) return null
  return {
    peakMemoryBytes: figure(peakMemoryBytes, PEAK_MEMORY_BYTES_MAX),
    meanUtilization: rounded(figure(meanUtilization, 1), 10_000),
    peakUtilization: figure(peakUtilization, 1),
    energyJoules: rounded(figure(energyJoules, Number.MAX_SAFE_INTEGER), 10),
    gpuSeconds: seconds,
  }
}

/** Whether the value identifies an image by its content, independently of its name. */
export function isImageDigest(value: unknown): value is string {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
}

/** Rounds to a fraction of a second: a difference of two clock readings has digits that mean nothing. */
function rounded(seconds: number | null, fractions: number): number | null {
  return seconds === null ? null : Math.round(seconds * fractions) / fractions
}

/** Returns null for values out of range, including NaN. */
function figure(value: unknown, max: number): number | null {
  return typeof value === 'number' && value >= 0 && value <= max ? value : null
}
