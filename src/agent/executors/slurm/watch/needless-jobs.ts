import { hasEnded } from '../../kernels/kernel-entry.ts'
import { WAITING } from '../judge-job.ts'
import { isJobOver, type JobRow, rowKey } from '../parse-squeue.ts'
import type { SlurmHost } from '../slurm-host.ts'
import { keyOf } from '../slurm-kernel.ts'

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
