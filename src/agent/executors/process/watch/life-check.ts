import { concludeEnd, endKernel } from '../end-kernel.ts'
import { readStatus, statusTimes } from '../../kernel-directory/kernel-directory.ts'
import { giveUpLaunch, LAUNCH_TIMEOUT_MS } from '../launch-kernel.ts'
import { isAlive } from '../proc-stat.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { HEARD_LIFE_CHECK_MS } from '../shim-messages.ts'
import { parseStatus } from '../../kernel-directory/shim-status.ts'
import { killKernel, signalCommand } from '../signal-kernel.ts'
import { signalProcess } from '../signal-process.ts'

const RECOVERED_LIFE_CHECK_MS = 100

/** Handles what no message announces: overdue launches, expired grace periods, and shims that have died. */
export function checkLife(host: ProcessHost, kernel: ProcessKernel, now: number): void {
  if (kernel.phase === 'LAUNCHING' && kernel.handedOver && now - kernel.launchedAt > LAUNCH_TIMEOUT_MS) {
    giveUpLaunch(host, kernel, `the shim did not begin within ${LAUNCH_TIMEOUT_MS} ms`)
  }
  if (kernel.ending !== null) return concludeEnd(host, kernel)
  if (kernel.phase !== 'RUNNING' || kernel.shim === null) return
  if (kernel.signalPending && !kernel.killed) kernel.signalPending = !signalCommand(kernel, 'SIGTERM')
  if (!kernel.killed && kernel.killAt !== null && kernel.killAt <= Date.now()) killKernel(host, kernel)
  if (now < kernel.nextLifeCheckAt) return
  kernel.nextLifeCheckAt = now + lifePause(kernel)
  if (isAlive(kernel.shim)) return
  endKernelOfDeadShim(host, kernel, kernel.shim.pid)
}

function lifePause(kernel: ProcessKernel): number {
  if (kernel.killed) return 0
  return kernel.heard ? HEARD_LIFE_CHECK_MS : RECOVERED_LIFE_CHECK_MS
}

/** The pid of a dead leader is not reused while its group has members, so the signal reaches no other processes. */
function endKernelOfDeadShim(host: ProcessHost, kernel: ProcessKernel, pid: number): void {
  const { exitCode } = parseStatus(readStatus(kernel.path))
  signalProcess(-pid, 'SIGKILL')
  endKernel(host, kernel, exitCode, exitCode === null ? new Date().toISOString() : statusTimes(kernel.path).endedAt)
}
