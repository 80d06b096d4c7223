import { isAlive } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** @returns false where there is no such process or group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The leader is looked at first: while it is the shim that we know, its group cannot be anybody else's. */
export function signalGroup(kernel: ProcessKernel, signal: NodeJS.Signals): void {
  if (kernel.shim !== null && isAlive(kernel.shim)) signalProcess(-kernel.shim.pid, signal)
}

/** For good. The order must be on disk before: the shim dies too and leaves no exit line. */
export function killKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.shim === null) return
  kernel.killed = true
  kernel.nextLifeCheckAt = 0
  signalGroup(kernel, 'SIGKILL')
  host.sessionsToSweep.add(kernel.shim.pid)
  host.wakeTicker()
}
