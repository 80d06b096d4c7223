import { readFileSync } from 'node:fs'
import { readStatus } from '../kernels/kernel-directory.ts'
import { isAlive, readProcStat, scanProcesses, signalProcess } from './proc-stat.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'
import { parseStatus } from '../kernels/shim-status.ts'

/** Signals the shim's group. Checks the shim first: while it is alive, the group cannot belong to anything else. */
function signalGroup(kernel: ProcessKernel, signal: NodeJS.Signals): void {
  if (kernel.shim !== null && isAlive(kernel.shim)) signalProcess(-kernel.shim.pid, signal)
}

/**
 * Signals the command and its process group. The process that creates the namespaces does not pass signals on, but
 * would die of them. So in a namespace the signal goes to the group of the namespace's first process, which is a
 * descendant of the shim.
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

/**
 * Whether the first process has a child. After `inside`, that can only be the command, which takes signals from its
 * fork on.
 */
function hasChild(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1') !== ''
  } catch {
    // The process has ended, or this system does not list children.
    return readProcStat(pid) === null || scanProcesses().some(({ parent }) => parent === pid)
  }
}

/** Stops the command. A shim that has not begun yet finds the stop mark, and does not run the command. */
export function stopCommand(host: ProcessHost, kernel: ProcessKernel, first: boolean): void {
  if (kernel.phase !== 'RUNNING') return
  if (kernel.killAt === null || kernel.killAt <= Date.now()) return killKernel(host, kernel)
  if (first) kernel.signalPending = !signalCommand(kernel, 'SIGTERM')
  host.wake()
}

/** Sends SIGKILL. The stop must be on disk before: the shim dies as well and leaves no exit line. */
export function killKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.shim === null) return
  kernel.killed = true
  kernel.nextLifeCheckAt = 0
  signalGroup(kernel, 'SIGKILL')
  host.wake()
}
