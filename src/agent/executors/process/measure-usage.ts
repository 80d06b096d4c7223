import type { KernelUsage } from '../../../domain/agent/kernel-report.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { type UsageMark, writeMark } from '../kernels/kernel-directory.ts'
import { readMeters } from './limits/usage-meters.ts'
import { uptimeSeconds } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

/**
 * What an ended kernel has used: from its cgroup's meters, which the shim has read, or if the shim was killed as well,
 * are read here and written down for a later instance. Where no group counts it, what its shim has waited for, or what
 * was seen of it while it ran.
 *
 * @returns null if nothing is known
 */
export function measureUsage(host: ProcessHost, kernel: ProcessKernel): KernelUsage | null {
  const { shim, used, seen } = kernel
  if (shim === null && seen === null) return null
  const metered = meteredUsage(kernel)
  const waited = highest(used?.waitedCpuSeconds, seen?.cpuSeconds)
  const usage = {
    peakMemoryBytes: metered.peakMemoryBytes ?? seen?.peakMemoryBytes ?? null,
    cpuSeconds: metered.cpuSeconds ?? waited,
    wallSeconds: wallSeconds(kernel),
  }
  const whole = metered.peakMemoryBytes !== null && metered.cpuSeconds !== null
  const source = whole ? 'CGROUP' : 'PROCESSES'
  // Told at its end by an earlier instance: the meters may have gone on counting how its processes died.
  if (used === null && seen?.wallSeconds != null) return { ...seen, source }
  if (used === null && shim !== null) noteUsage(host, kernel, usage)
  return { ...usage, source }
}

function meteredUsage({ outside, used, cgroup }: ProcessKernel) {
  const { peakMemoryBytes = null, cpuSeconds = null } = outside
    ? {}
    : (used ?? (cgroup && readMeters(cgroup.meters)) ?? {})
  return { peakMemoryBytes, cpuSeconds }
}

function wallSeconds({ shim, beganAt, used, seen, watched }: ProcessKernel): number | null {
  if (shim === null || beganAt === null || (used === null && !watched)) return seen?.wallSeconds ?? null
  return Math.max(0, (used?.endedAtSeconds ?? uptimeSeconds()) - beganAt)
}

/** Without it, a later instance knows less. */
export function noteUsage({ log }: ProcessHost, { id, path }: ProcessKernel, usage: UsageMark): void {
  try {
    writeMark(path, 'usage', usage)
  } catch (error) {
    log.debug({ kernelId: id, error: messageOf(error) }, 'what a kernel used could not be written down')
  }
}

function highest(...values: (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === 'number')
  return known.length === 0 ? null : Math.max(...known)
}
