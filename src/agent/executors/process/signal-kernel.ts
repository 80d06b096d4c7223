import { isAlive } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** @returns false if there is no such process or group */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Checks the leader first: while the shim that we know is alive, the group cannot belong to anything else. */
export function signalGroup(kernel: ProcessKernel, signal: NodeJS.Signals): void {
  if (kernel.shim !== null && isAlive(kernel.shim)) signalProcess(-kernel.shim.pid, signal)
}

/** Sends SIGKILL. The stop must be on disk before: the shim dies as well and leaves no exit line. */
export function killKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.shim === null) return
  kernel.killed = true
  kernel.nextLifeCheckAt = 0
  signalGroup(kernel, 'SIGKILL')
  host.sessionsToSweep.add(kernel.shim.pid)
  host.wakeTicker()
}
