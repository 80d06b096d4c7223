import { endedBeforeStop } from '../time-limit.ts'
import { judgeExit } from '../kernels/exit-verdict.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import { readOomMark, readStatus, readStopMark, type UsageMark, writeMark } from '../kernels/kernel-directory.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'
import { existsSync, readlinkSync } from 'node:fs'
import { readProcStat, signalProcess, uptimeSeconds } from './proc-stat.ts'
import { parseStatus } from '../kernels/shim-status.ts'
import { isAbsolute, join } from 'node:path'
import { findProgram, pullImage, withInterpreter } from './image-preset.ts'
import type { KernelUsage } from '../../../domain/agent/kernel-report.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { readMeters } from './limits/cgroup-limits.ts'

/** @param exitCode from the shim; null if it left none */
export function endKernel(host: ProcessHost, kernel: ProcessKernel, exitCode: number | null, endedAt: string): void {
  if (hasEnded(kernel)) return
  kernel.ending ??= { exitCode, endedAt }
  concludeEnd(host, kernel)
}

/** Reports the end, unless something that the command started is still there: then that is killed first. */
export function concludeEnd(host: ProcessHost, kernel: ProcessKernel): void {
  if (hasEnded(kernel) || kernel.ending === null) return
  if (!killLeftovers(host, kernel)) return host.wakeTicker()
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
    missing: isNotRun(exitCode) ? missingProgram(host, kernel) : null,
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
 * Kills what an ended shim has left, however it detached itself: in the kernel's cgroup, in its PID namespace, or where
 * it has neither, in its process session or with its id in the environment.
 *
 * @returns whether nothing is left
 */
function killLeftovers(host: ProcessHost, kernel: ProcessKernel): boolean {
  const { cgroup, shim } = kernel
  if (cgroup !== null && host.cgroups !== null) return host.cgroups.empty(cgroup)
  // Nothing ran, or not since the machine started.
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

/** Whether a shell ends with this status if it cannot run a command. Programs may end with it as well. */
function isNotRun(exitCode: number | null): boolean {
  return exitCode === 126 || exitCode === 127
}

/** Why the kernel's program could not be run, in words; null if it is there. */
function missingProgram(
  { presets, path: agentPath }: Pick<ProcessHost, 'path' | 'presets'>,
  { spec, path: directory }: Pick<ProcessKernel, 'spec' | 'path'>,
): string | null {
  const image = pullImage(presets, spec.image, agentPath)
  if (typeof image === 'string') return null
  const path = spec.environ.findLast(({ name }) => name === 'PATH')?.value ?? image.environ['PATH'] ?? agentPath
  const [program] = withInterpreter(image, spec.command, path)
  if (program === undefined) return null
  if (!program.includes('/')) {
    return findProgram(program, path) === null ? `command not found: ${program} is not on the agent’s PATH` : null
  }
  const file = isAbsolute(program) ? program : join(directory, 'work', program)
  if (findProgram(file, path) !== null) return null
  return existsSync(file) ? `${program} is no program: it is not executable` : notThere(program)
}

function notThere(program: string): string {
  const where = isAbsolute(program) ? 'on the agent’s machine' : 'in the directory of its own in which it runs'
  return `command not found: there is no ${program} ${where}`
}

/**
 * What an ended kernel has used: from its cgroup's meters, which the shim has read, or if the shim was killed as well,
 * are read here and written down for a later instance. Where no group counts it, what its shim has waited for, or what
 * was seen of it while it ran.
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
