import type { FailureError } from '../../../domain/session/failure.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { overfull } from './chain/chain-bound.ts'
import { chainDirectory, generationOf, isEmpty, isFirstKernel, leaveChain } from './chain/chain-directory.ts'
import { lookAtCheckpoint } from './chain/look-at-checkpoint.ts'
import { isEmptied } from './emptied.ts'
import { isNotRun, missingProgram } from './missing-program.ts'
import { judgeExit } from '../kernel-directory/exit-verdict.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'
import { logSize, readOomMark, readStopMark, writeMark } from '../kernel-directory/kernel-directory.ts'
import type { ProcessHost } from './process-host.ts'
import { hasEnded, type ProcessKernel } from './process-kernel.ts'
import { measureUsage } from './measure-usage.ts'
import { readVerdict } from '../kernel-directory/verdict-file.ts'

export function failKernel(host: ProcessHost, kernel: ProcessKernel, name: string, message: string): void {
  if (hasEnded(kernel)) return
  kernel.error = { name, message }
  // Keeps a later instance from starting a kernel that was reported as failed.
  if (kernel.handedOver) writeMark(kernel.path, 'stop', { killAt: 0 })
  settle(host, kernel, 'FAILED', new Date().toISOString())
}

/** For a kernel that was stopped before its command ran. */
export function endBeforeRunning(host: ProcessHost, kernel: ProcessKernel, error: FailureError | null): void {
  kernel.error = error
  kernel.stopped = error === null
  settle(host, kernel, 'EXITED', new Date().toISOString())
}

/** @param exitCode from the shim; null if it left none */
export function endKernel(host: ProcessHost, kernel: ProcessKernel, exitCode: number | null, endedAt: string): void {
  if (hasEnded(kernel)) return
  kernel.ending ??= { exitCode, endedAt }
  concludeEnd(host, kernel)
}

/** Reports the end, unless something that the command started is still there: then that is killed first. */
export function concludeEnd(host: ProcessHost, kernel: ProcessKernel): void {
  if (hasEnded(kernel) || kernel.ending === null) return
  if (!isEmptied(host, kernel)) return host.wakeTicker()
  const { exitCode, endedAt } = kernel.ending
  const mark = exitCode === null ? readStopMark(kernel.path) : null
  const stopOrdered = kernel.killAt !== null || kernel.removing || mark !== null
  const stopError = kernel.stopError ?? mark?.error ?? null
  kernel.stopped = stopOrdered && stopError === null
  const verdict = judgeExit({
    exitCode,
    stopOrdered,
    stopError,
    oomKills: kernel.cgroup === null ? 0 : (host.cgroups?.oomKills(kernel.cgroup) ?? 0),
    oomMark: exitCode === null ? readOomMark(kernel.path) : null,
    memoryLimitBytes: kernel.memoryLimitBytes,
    missing: isNotRun(exitCode) ? missingProgram(host, kernel) : null,
  })
  Object.assign(kernel, verdict)
  kernel.usage = measureUsage(host, kernel)
  kernel.logSizes.STDOUT = logSize(kernel.path, 'STDOUT')
  kernel.logSizes.STDERR = logSize(kernel.path, 'STDERR')
  const awaited = [...(isOwnFailure(kernel) ? [takeVerdict(host, kernel)] : []), ...takeCheckpoint(host, kernel)]
  if (awaited.length > 0) holdBack(host, kernel, awaited)
  settle(host, kernel, 'EXITED', endedAt)
}

/** What its program says is about a failure of its own, not about being stopped. */
function isOwnFailure({ exitCode, oomKilled, error, killAt, removing }: ProcessKernel): boolean {
  if (killAt !== null || removing) return false
  return oomKilled || (exitCode !== null && exitCode !== 0 && error === null)
}

/** A program that could write no more because its chain's directory is too full has not failed by itself. */
async function takeVerdict(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  const full = kernel.error === null ? overfull(host, kernel.spec) : null
  const [verdict, error] = await Promise.all([readVerdict(kernel.path), full])
  Object.assign(kernel, error === null ? { verdict } : { error })
}

/** Most chains store nothing: whether there is something is seen at once. None where there is nothing to tell. */
function takeCheckpoint(host: ProcessHost, kernel: ProcessKernel): Promise<void>[] {
  const { spec, found } = kernel
  if (!isFirstKernel(spec)) return []
  const path = chainDirectory(host, spec)
  if (isEmpty(path) && found === null) return []
  const look = lookAtCheckpoint(path, generationOf(spec)).then((left) => {
    kernel.left = left
  })
  return [look]
}

/** From reporting its end until these are known. None of them rejects. */
function holdBack(host: ProcessHost, kernel: ProcessKernel, awaited: readonly Promise<void>[]): void {
  kernel.endPending = true
  void Promise.all(awaited).then(() => {
    kernel.endPending = false
    host.changed()
  })
}

function settle(host: ProcessHost, kernel: ProcessKernel, phase: 'FAILED' | 'EXITED', endedAt: string): void {
  kernel.phase = phase
  kernel.endedAt = endedAt
  if (kernel.cgroup !== null) leaveCgroup(host, kernel.cgroup)
  kernel.cgroup = null
  host.wakeTicker()
  host.changed()
  if (kernel.removing) removeKernel(host, kernel)
}

function leaveCgroup(host: ProcessHost, group: KernelCgroup): void {
  if (host.cgroups?.remove(group) === false) host.cgroupsToRemove.add(group)
}

/** The kernel must not be running. */
export function removeKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.phase === 'REMOVED') return
  kernel.phase = 'REMOVED'
  host.changed()
  kernel.busy = kernel.busy
    .then(() => host.removeDirectory(kernel.path, kernel.token))
    .catch((error: unknown) => host.log.error({ kernelId: kernel.id, error: messageOf(error) }, 'kernel not removed'))
    .then(() => host.removed(kernel))
    .then(() => leaveChain(host, kernel))
    .catch((error: unknown) =>
      host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'chain directory not removed'),
    )
}
