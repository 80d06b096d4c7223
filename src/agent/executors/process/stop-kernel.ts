import type { FailureError } from '../../../domain/session/failure.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { endBeforeRunning, removeKernel } from './end-kernel.ts'
import { readStatus, writeMark } from '../kernel-directory/kernel-directory.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'
import { parseStatus } from '../kernel-directory/shim-status.ts'
import { killKernel, signalCommand } from './signal-kernel.ts'

/** Idempotent. A later order can only shorten the grace period, and does not change the reason. */
export function stopKernel(
  host: ProcessHost,
  kernel: ProcessKernel,
  graceMs: number,
  error: FailureError | null = null,
): void {
  const killAt = Math.min(Date.now() + graceMs, kernel.killAt ?? Number.POSITIVE_INFINITY)
  if (isBeforeLaunch(kernel)) return endBeforeRunning(host, kernel, error)
  if (kernel.phase !== 'LAUNCHING' && kernel.phase !== 'RUNNING') return
  // How it ended is known, and what it left is being killed; or the shim has noted it, and its message is on the way.
  if (kernel.ending !== null || parseStatus(readStatus(kernel.path)).exitCode !== null) return
  const first = kernel.killAt === null
  if (!first && killAt === kernel.killAt) return
  kernel.killAt = killAt
  if (first) kernel.stopError = error
  if (kernel.phase === 'RUNNING') beginStop(host, kernel, first)
  // A shim that has yet to begin finds the mark, and does not run the command.
  else if (kernel.handedOver) markStop(host, kernel, killAt)
}

function isBeforeLaunch({ phase }: ProcessKernel): boolean {
  return phase === 'PREPARING' || phase === 'PULLING' || phase === 'PREPARED'
}

/** Also used when a kernel begins to run after its stop was ordered, and after a restart within the grace period. */
export function beginStop(host: ProcessHost, kernel: ProcessKernel, first = true): void {
  const killAt = kernel.killAt ?? Date.now()
  markStop(host, kernel, killAt)
  if (killAt <= Date.now()) return killKernel(host, kernel)
  if (first) kernel.signalPending = !signalCommand(kernel, 'SIGTERM')
  host.wakeTicker()
}

/** A stop that cannot be written down, because the disk is full or the program has moved its directory, still ends it. */
function markStop({ log }: ProcessHost, { id, path, stopError }: ProcessKernel, killAt: number): void {
  try {
    writeMark(path, 'stop', { killAt, error: stopError })
  } catch (error) {
    log.warn({ kernelId: id, error: messageOf(error) }, 'the stop of a kernel could not be written down')
  }
}

/** Kills the kernel if it runs, and removes it once it has ended. */
export function forgetKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.removing) return
  kernel.removing = true
  if (kernel.phase !== 'LAUNCHING' && kernel.phase !== 'RUNNING') return removeKernel(host, kernel)
  stopKernel(host, kernel, 0)
}
