import { lchownSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../../observability/error-message.ts'
import { hasEnded } from '../../kernels/kernel-entry.ts'
import { claimStatus } from '../../kernels/kernel-directory.ts'
import { uidOf } from '../job-users.ts'
import type { SlurmHost } from '../slurm-host.ts'
import type { SlurmKernel } from '../slurm-kernel.ts'

/** Behind the time at which the keeper should have ended it. */
const CANCEL_AFTER_MS = 10_000

/** Keeps it from beginning, unless it is about to: then it is stopped once it has. */
export function stopUnbegun(host: SlurmHost, kernel: SlurmKernel): void {
  if (host.presence.fault !== null) return
  try {
    if (!claimStatus(kernel.outputPath, 'never')) return
  } catch (error) {
    // It is tried again with each look.
    host.log.debug({ kernelId: kernel.id, error: messageOf(error) }, 'the start of a kernel could not be given up')
    return
  }
  host.registry.endBeforeRunning(kernel, kernel.stopError)
  cancelJob(host, kernel)
}

/** What the keeper has not ended in time. */
export function enforceStop(host: SlurmHost, kernel: SlurmKernel): void {
  if (kernel.killAt === null || kernel.cancelled || Date.now() < kernel.killAt + CANCEL_AFTER_MS) return
  kernel.cancelled = cancelJob(host, kernel)
}

/** Its keeper reads it. */
export function showStop({ log }: SlurmHost, { id, user, path }: SlurmKernel): void {
  try {
    if (user !== null) lchownSync(join(path, 'stop'), user.uid, user.gid)
  } catch (error) {
    log.warn({ kernelId: id, error: messageOf(error) }, 'the keeper of a kernel cannot read its stop')
  }
}

/**
 * The kernels of a gang share a job, which goes when none of them is wanted.
 *
 * @returns whether Slurm is asked to: a task of an array cannot be named before a listing has
 */
export function cancelJob(host: SlurmHost, kernel: SlurmKernel, signal?: 'TERM'): boolean {
  if (kernel.submit === null) return false
  const { name, task } = kernel.submit
  if (task === null && [...host.registry.kernels.values()].some((other) => sharesJob(kernel, other))) return false
  const jobId = task === null ? undefined : taskIdOf(kernel)
  if (task !== null && jobId === undefined) return false
  void host.commands
    .cancel({ name, uid: uidOf(kernel.user), jobId, signal })
    .catch((error: unknown) => host.log.debug({ kernelId: kernel.id, error: messageOf(error) }, 'scancel did not work'))
  return true
}

function sharesJob(kernel: SlurmKernel, other: SlurmKernel): boolean {
  if (other === kernel || hasEnded(other) || other.submit?.name !== kernel.submit?.name) return false
  return other.killAt === null || Date.now() < other.killAt + CANCEL_AFTER_MS
}

/** As the listing has it (`8_3`): the number that a task sees as its own may be that of its whole array. */
function taskIdOf({ row }: SlurmKernel): string | undefined {
  return row === null || row === 'unknown' ? undefined : row.cancelId
}
