import { readFileSync } from 'node:fs'
import { readStatus } from '../kernels/kernel-directory.ts'
import { isAlive, readProcStat, scanProcesses, signalProcess } from './proc-stat.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'
import { parseStatus } from '../kernels/shim-status.ts'

/** Checks the leader first: while the shim that we know is alive, the group cannot belong to anything else. */
function signalGroup(kernel: ProcessKernel, signal: NodeJS.Signals): void {
  if (kernel.shim !== null && isAlive(kernel.shim)) signalProcess(-kernel.shim.pid, signal)
}

/**
 * To the command and its process group. What makes the namespaces does not pass signals on, but dies of them: there the
 * group of the namespace's first process is meant, which is found by its way down from the shim.
 *
 * @returns false if the command cannot take signals yet
 */
export function signalCommand(kernel: ProcessKernel, signal: NodeJS.Signals): boolean {
  if (!kernel.namespaced) {
    signalGroup(kernel, signal)
    return true
  }
  const { innerPid, inside } = parseStatus(readStatus(kernel.path))
  if (innerPid === null || !inside) return false
  if (!hasChild(innerPid)) return false
  const launcher = readProcStat(innerPid)?.parent ?? 0
  if (kernel.shim !== null && readProcStat(launcher)?.parent === kernel.shim.pid && isAlive(kernel.shim))
    signalProcess(-innerPid, signal)
  return true
}

/** After `inside`, the first process has no child but the command, which takes signals from its fork on. */
function hasChild(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1') !== ''
  } catch {
    // It has ended, or this system does not list children.
    return readProcStat(pid) === null || scanProcesses().some(({ parent }) => parent === pid)
  }
}

/** A shim that has yet to begin finds the mark of the stop, and does not run the command. */
export function stopCommand(host: ProcessHost, kernel: ProcessKernel, first: boolean): void {
  if (kernel.phase !== 'RUNNING') return
  if (kernel.killAt === null || kernel.killAt <= Date.now()) return killKernel(host, kernel)
  if (first) kernel.signalPending = !signalCommand(kernel, 'SIGTERM')
  host.wakeTicker()
}

/** Sends SIGKILL. The stop must be on disk before: the shim dies as well and leaves no exit line. */
export function killKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.shim === null) return
  kernel.killed = true
  kernel.nextLifeCheckAt = 0
  signalGroup(kernel, 'SIGKILL')
  host.wakeTicker()
}
