import type { GpuUsage } from '../../domain/gpu.ts'
import type { GpuSample } from './gpu-driver.ts'

/** A figure of the last sample counts for the time since the one before, but for no longer than this. */
const SAMPLE_SECONDS_MAX = 60

/** Usage as it is counted: sums, from which means are made. */
export interface CountedUsage {
  at: number
  peakMemoryBytes: number | null
  peakUtilization: number | null
  /** Sum of the utilisation of all GPUs × seconds, over `busyKnownSeconds` GPU-seconds. */
  busySeconds: number
  busyKnownSeconds: number
  energyJoules: number | null
  gpuSeconds: number
}

export const NO_USAGE: CountedUsage = {
  at: 0,
  peakMemoryBytes: null,
  peakUtilization: null,
  busySeconds: 0,
  busyKnownSeconds: 0,
  energyJoules: null,
  gpuSeconds: 0,
}

export function addSamples(
  before: CountedUsage | undefined,
  samples: readonly (GpuSample | undefined)[],
  now: number,
  /** The part of each GPU that the kernel has. */
  part = 1,
): CountedUsage {
  const seconds = before === undefined ? 0 : Math.min(SAMPLE_SECONDS_MAX, (now - before.at) / 1000)
  const memory = sum(samples.map((each) => each?.usedMemoryBytes))
  const power = sum(samples.map((each) => each?.powerWatts))
  const busy = samples.flatMap((each) => each?.utilization ?? [])
  return {
    at: now,
    peakMemoryBytes: highest(before?.peakMemoryBytes, memory),
    peakUtilization: highest(before?.peakUtilization, ...busy),
    busySeconds: (before?.busySeconds ?? 0) + busy.reduce((total, each) => total + each * seconds, 0),
    busyKnownSeconds: (before?.busyKnownSeconds ?? 0) + busy.length * seconds,
    energyJoules: power === null ? (before?.energyJoules ?? null) : (before?.energyJoules ?? 0) + power * seconds,
    gpuSeconds: (before?.gpuSeconds ?? 0) + samples.length * part * seconds,
  }
}

export function usageOf(counted: CountedUsage): GpuUsage {
  const { peakMemoryBytes, peakUtilization, busySeconds, busyKnownSeconds, energyJoules, gpuSeconds } = counted
  const meanUtilization = busyKnownSeconds === 0 ? peakUtilization : busySeconds / busyKnownSeconds
  return { peakMemoryBytes, meanUtilization, peakUtilization, energyJoules, gpuSeconds }
}

/** Null if a summand is unknown. */
function sum(values: readonly (number | null | undefined)[]): number | null {
  return values.reduce<number | null>((total, each) => (total === null || each == null ? null : total + each), 0)
}

function highest(...values: (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === 'number')
  return known.length === 0 ? null : Math.max(...known)
}
