import { endedBeforeStop } from '../time-limit.ts'
import { judgeExit } from '../kernels/exit-verdict.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import { readOomMark, readStopMark } from '../kernels/kernel-directory.ts'
import { killLeftovers } from './emptied.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'
import { measureUsage } from './measure-usage.ts'
import { isNotRun, missingProgram } from './missing-program.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

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
