import { lchownSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../../observability/error-message.ts'
import { hasEnded } from '../../kernels/kernel-entry.ts'
import { claimStatus } from '../../kernels/kernel-directory.ts'
import { uidOf } from '../job-users.ts'
import { keyOf, type SlurmHost, type SlurmKernel } from '../slurm-host.ts'
import { WAITING } from '../judge-job.ts'
import { isJobOver, type JobRow, rowKey } from '../slurm-status.ts'

/** Time after which a job is cancelled that its keeper should have ended. */
const CANCEL_AFTER_MS = 10_000

/** Keeps a kernel from beginning. If it is about to begin, it is stopped once it has. */
export function stopUnbegun(host: SlurmHost, kernel: SlurmKernel): void {
  if (host.presence.fault !== null) return
  try {
    if (!claimStatus(kernel.outputPath, 'never')) return
  } catch (error) {
    // The next check tries again.
    host.log.debug({ kernelId: kernel.id, error: messageOf(error) }, 'the start of a kernel could not be given up')
    return
  }
  host.registry.endBeforeRunning(kernel, kernel.stopError)
  cancelJob(host, kernel)
}

/** Cancels a job that its keeper has not ended in time. */
export function enforceStop(host: SlurmHost, kernel: SlurmKernel): void {
  if (kernel.killAt === null || kernel.cancelled || Date.now() < kernel.killAt + CANCEL_AFTER_MS) return
  kernel.cancelled = cancelJob(host, kernel)
}

/** Lets the keeper read the stop. */
export function showStop({ log }: SlurmHost, { id, user, path }: SlurmKernel): void {
  try {
    if (user !== null) lchownSync(join(path, 'stop'), user.uid, user.gid)
  } catch (error) {
    log.warn({ kernelId: id, error: messageOf(error) }, 'the keeper of a kernel cannot read its stop')
  }
}

/**
 * Cancels the job. The kernels of a gang share one, which is cancelled when none of them is wanted.
 *
 * @returns whether Slurm is asked to: a task of an array can be named only after it was listed
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

/** Returns the task's id as in the listing (`8_3`), because the id that a task sees may be that of its whole array. */
function taskIdOf({ row }: SlurmKernel): string | undefined {
  return row === null || row === 'unknown' ? undefined : row.cancelId
}

interface NeedlessJobs {
  uid: number
  name: string
  ids: string[] | null
}

/** Ids of jobs that seem to be unneeded. */
type Suspects = ReadonlySet<string>

interface Needless {
  jobs: NeedlessJobs[]
  suspects: Suspects
}

/**
 * Finds jobs of this agent that no kernel needs: a dying agent's submission that succeeded late, a job whose
 * cancellation Slurm has missed, or one whose kernel runs as another job. They would do nothing, but take a place in
 * the queue.
 *
 * @param suspects those of the last answer; null for the first answer, where running jobs count, too. Later, a kernel
 * of a listed job may just have ended and been forgotten, so only jobs in two answers in a row count
 * @returns the jobs by user and name, where `ids: null` means all, and the new suspects
 */
export function needlessJobs(host: SlurmHost, rows: readonly JobRow[], suspects: Suspects | null): Needless {
  const kernels = Map.groupBy(
    [...host.registry.kernels.values()].filter(({ submit }) => submit !== null),
    (kernel) => keyOf(kernel),
  )
  const isNeeded = ({ key, jobId }: JobRow) =>
    kernels.get(key)?.some((each) => !hasEnded(each) && (each.status.began?.jobId ?? jobId) === jobId) === true
  const mine = rows.filter(
    ({ name, comment }) => name.startsWith('rp-') && comment.startsWith(`reprise agent=${host.agentId} `),
  )
  const seen = mine.filter((row) =>
    WAITING.has(row.state) ? !isNeeded(row) : suspects === null && !isJobOver(row.state) && !kernels.has(row.key),
  )
  const needless = suspects === null ? seen : seen.filter(({ cancelId }) => suspects.has(cancelId))
  const together = ({ uid, name }: JobRow) => rowKey(uid, name, null)
  const alike = Map.groupBy(mine, together)
  const jobs = [...Map.groupBy(needless, together)].map(([key, some]) => {
    const { uid, name } = some[0]!
    return { uid, name, ids: some.length === alike.get(key)!.length ? null : some.map(({ cancelId }) => cancelId) }
  })
  return { jobs, suspects: new Set(seen.map(({ cancelId }) => cancelId)) }
}

/** Never rejects. */
export async function cancelNeedless(host: SlurmHost, jobs: readonly NeedlessJobs[]): Promise<void> {
  for (const { uid, name, ids } of jobs) {
    for (const jobId of ids ?? [undefined]) await host.commands.cancel({ name, uid, jobId }).catch(() => undefined)
  }
}
