import { lchownSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../../observability/error-message.ts'
import { hasEnded } from '../../kernels/kernel-entry.ts'
import { claimStatus } from '../../kernels/kernel-directory.ts'
import { uidOf } from '../job-users.ts'
import { keyOf, type SlurmHost, type SlurmKernel } from '../slurm-host.ts'
import { WAITING } from '../judge-job.ts'
import { isJobOver, type JobRow, rowKey } from '../slurm-status.ts'

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

interface NeedlessJobs {
  uid: number
  name: string
  ids: string[] | null
}

/** Ids of jobs that seemed needless. */
type Suspects = ReadonlySet<string>

interface Needless {
  jobs: NeedlessJobs[]
  suspects: Suspects
}

/**
 * Jobs of this agent that no kernel needs: a dying agent's submission that has succeeded late, one whose cancellation
 * Slurm has not heard, or one whose kernel runs as another job. They would do nothing, but take a place in the queue.
 *
 * @param suspects those of the last answer; null for the first answer, where those that run are meant, too: later on the
 *   kernels of what an answer still shows may just have ended and been forgotten, so two answers in a row are believed
 * @returns of each user and name which jobs, `ids: null` for all; and who is a suspect from here on
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
