import { endedBeforeStop } from '../time-limit.ts'
import { judgeExit } from '../kernels/exit-verdict.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import {
  logPath,
  readOomMark,
  readStatus,
  readStopMark,
  type UsageMark,
  writeMark,
} from '../kernels/kernel-directory.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'
import { readlinkSync } from 'node:fs'
import { readProcStat, signalProcess, uptimeSeconds } from './proc-stat.ts'
import { parseStatus } from '../kernels/shim-status.ts'
import { readEnd } from '../../control-file.ts'
import { programFault, readOnlyFailure } from './program-fault.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { type KernelUsage, readKernelUsage } from '../../../domain/agent/kernel-report.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { readMeters } from './limits/cgroup-limits.ts'
import { gpuMemoryFailure } from '../../gpus/kernel-gpus.ts'

/** @param exitCode from the shim; null if it left none */
export function endKernel(host: ProcessHost, kernel: ProcessKernel, exitCode: number | null, endedAt: string): void {
  if (hasEnded(kernel)) return
  kernel.ending ??= { exitCode, endedAt }
  concludeEnd(host, kernel)
}

/** Reports the end once nothing that the command started is left. Until then, kills what is left. */
export function concludeEnd(host: ProcessHost, kernel: ProcessKernel): void {
  if (hasEnded(kernel) || kernel.ending === null) return
  if (!killLeftovers(host, kernel)) return host.wake()
  const { exitCode, endedAt } = kernel.ending
  const mark = exitCode === null ? readStopMark(kernel.path) : null
  const cameFirst = exitCode !== null && endedBeforeStop(kernel, kernel.used?.commandEndedAtSeconds ?? null)
  const stopOrdered = !cameFirst && (kernel.killAt !== null || kernel.removing || mark !== null)
  const stopError = stopOrdered ? (kernel.stopError ?? mark?.error ?? null) : null
  const verdict = judgeExit({
    exitCode,
    stopOrdered,
    stopError,
    oomKills: kernel.cgroup === null ? 0 : (host.cgroups?.oomKills(kernel.cgroup) ?? 0),
    oomMark: exitCode === null ? (kernel.exceededMemory ?? readOomMark(kernel.path)) : null,
    memoryLimitBytes: kernel.memoryLimitBytes,
    missing: programFault(host, kernel, exitCode),
    explained: () => explainedEnd(kernel, exitCode),
  })
  const usage = measureUsage(host, kernel)
  host.registry.exited(kernel, { ...verdict, endedAt, stopOrdered, stopError, usage, ranSeconds: ranSeconds(kernel) })
}

function ranSeconds({ beganAt, used }: ProcessKernel): number | null {
  return beganAt === null || used === null ? null : Math.max(0, used.commandEndedAtSeconds - beganAt)
}

export function leaveCgroup(host: ProcessHost, group: KernelCgroup): void {
  if (host.cgroups?.remove(group) === false) host.cgroupsToRemove.add(group)
}

/**
 * Kills what an ended shim has left, however it detached itself: everything in the kernel's cgroup or PID namespace. If
 * the kernel has neither, everything in its process session, and every process with its id in the environment.
 *
 * @returns whether nothing is left
 */
function killLeftovers(host: ProcessHost, kernel: ProcessKernel): boolean {
  const { cgroup, shim } = kernel
  if (cgroup !== null && host.cgroups !== null) return host.cgroups.empty(cgroup)
  // No process ran, or the machine has restarted since.
  if (shim === null) return true
  if (!kernel.namespaced) return kernel.swept
  const { innerPid, innerNamespace } = parseStatus(readStatus(kernel.path))
  if (innerPid === null) return kernel.swept
  if (!isStillThere(innerPid, innerNamespace, shim)) return true
  signalProcess(innerPid, 'SIGKILL')
  return false
}

function isStillThere(pid: number, namespace: number | null, shim: { startTicks: number }): boolean {
  const stat = readProcStat(pid)
  // The last process of a namespace is a zombie only when all others are gone.
  if (stat === null || 'ZX'.includes(stat.state)) return false
  if (namespace === null) return stat.session === pid && stat.startTicks >= shim.startTicks
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === `pid:[${namespace}]`
  } catch {
    return false
  }
}

/** Explains an end by the last output of its program. Only a mount namespace makes the machine's files read-only. */
function explainedEnd(kernel: ProcessKernel, exitCode: number | null): FailureError | null {
  const hasGpus = (kernel.gpus ?? []).length > 0
  if ((!kernel.namespaced && !hasGpus) || exitCode === null || exitCode === 0) return null
  const last = readEnd(logPath(kernel.path, 'STDERR'), OUTPUT_READ_BYTES)
  return gpuMemoryFailure(kernel, last, exitCode) ?? (kernel.namespaced ? readOnlyFailure(last, exitCode) : null)
}

/** An error message is among the last lines. */
const OUTPUT_READ_BYTES = 4_096

/**
 * Returns what an ended kernel has used. The figures come from its cgroup's meters. The shim reads these; if the shim
 * was killed too, they are read here, and written to the directory for a later instance. If no cgroup counts the
 * kernel, the figures are what its shim has waited for, or what the agent saw while it ran.
 *
 * @returns null if nothing is known
 */
function measureUsage(host: ProcessHost, kernel: ProcessKernel): KernelUsage | null {
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
  // An earlier instance recorded these figures at the end. The meters may since have counted how the processes died.
  if (used === null && seen?.wallSeconds != null) return { ...seen, source }
  if (used === null && shim !== null) noteUsage(host, kernel, usage)
  return readKernelUsage({ ...usage, source })
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

/** Records usage for a later instance of the agent. If that fails, a later instance reports less. */
export function noteUsage({ log }: ProcessHost, { id, path }: ProcessKernel, usage: UsageMark): void {
  try {
    writeMark(path, 'usage', usage)
  } catch (error) {
    log.debug({ kernelId: id, error: messageOf(error) }, 'the usage of a kernel could not be recorded')
  }
}

function highest(...values: (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === 'number')
  return known.length === 0 ? null : Math.max(...known)
}
