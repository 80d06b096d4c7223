import { hasEnded } from '../../kernel-book/kernel-entry.ts'
import { WAITING } from '../judge-job.ts'
import { isJobOver, type JobRow, rowKey } from '../parse-squeue.ts'
import type { SlurmHost } from '../slurm-host.ts'
import { keyOf } from '../slurm-kernel.ts'

interface NeedlessJobs {
  uid: number
  name: string
  ids: string[] | null
}

/**
 * Jobs of this agent that no kernel needs: a dying agent's submission that has succeeded late, one whose cancellation
 * Slurm has not heard, or one whose kernel runs as another job. They would do nothing, but take a place in the queue.
 *
 * @param first whether those that run are meant, too: later on their kernels may just have been forgotten
 * @returns of each user and name which jobs; null for all
 */
export function needlessJobs(host: SlurmHost, rows: readonly JobRow[], first: boolean): NeedlessJobs[] {
  const kernels = Map.groupBy(
    [...host.book.kernels.values()].filter(({ submit }) => submit !== null),
    (kernel) => keyOf(kernel),
  )
  const isNeeded = ({ key, jobId }: JobRow) =>
    kernels.get(key)?.some((each) => !hasEnded(each) && (each.status.began?.jobId ?? jobId) === jobId) === true
  const mine = rows.filter(
    ({ name, comment }) => name.startsWith('rp-') && comment.startsWith(`reprise agent=${host.agentId} `),
  )
  const needless = mine.filter((row) =>
    WAITING.has(row.state) ? !isNeeded(row) : first && !isJobOver(row.state) && !kernels.has(row.key),
  )
  const together = ({ uid, name }: JobRow) => rowKey(uid, name, null)
  const alike = Map.groupBy(mine, together)
  return [...Map.groupBy(needless, together)].map(([key, jobs]) => {
    const { uid, name } = jobs[0]!
    return { uid, name, ids: jobs.length === alike.get(key)!.length ? null : jobs.map(({ cancelId }) => cancelId) }
  })
}

/** Never rejects. */
export async function cancelNeedless(host: SlurmHost, jobs: readonly NeedlessJobs[]): Promise<void> {
  for (const { uid, name, ids } of jobs) {
    for (const jobId of ids ?? [undefined]) await host.commands.cancel({ name, uid, jobId }).catch(() => undefined)
  }
}
