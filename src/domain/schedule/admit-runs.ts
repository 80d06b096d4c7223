import { SCHEDULE_QUEUE_MAX } from '../limits.ts'

/** What happens to a run that is due while an earlier one goes on. */
export const SCHEDULE_OVERLAPS = ['SKIP', 'QUEUE', 'CANCEL_OTHER'] as const
export type ScheduleOverlap = (typeof SCHEDULE_OVERLAPS)[number]
/** What became of a run. */
export const SCHEDULE_RUN_OUTCOMES = ['STARTED', 'QUEUED', 'SKIPPED', 'MISSED', 'REFUSED'] as const
export type ScheduleRunOutcome = (typeof SCHEDULE_RUN_OUTCOMES)[number]

/** A run that is due now, or that has waited since it was. */
export interface Candidate {
  plannedAt: Date
  /** Of its row, if it waits already. */
  queuedId: string | null
}

export interface AdmittedRuns {
  /** The run to start now: never more than one, because the next would overlap it. */
  start: Candidate | null
  wait: Candidate[]
  skip: { run: Candidate; reason: string }[]
  /** Whether what goes on is to be ended for a run that waits for that. */
  cancelOther: boolean
}

export const SKIPPED_FOR_EARLIER = 'an earlier run goes on'
export const SKIPPED_FOR_QUEUE = `${SCHEDULE_QUEUE_MAX} runs wait already`
export const REPLACED = 'a later run takes its place'

/**
 * Decides on runs of one schedule, oldest first, those that wait before those that are due. `open`: whether a chain of
 * the schedule goes on. With CANCEL_OTHER only the newest run counts; it waits until what goes on has ended.
 */
export function admitRuns(options: {
  overlap: ScheduleOverlap
  open: boolean
  waiting: readonly Candidate[]
  due: readonly Candidate[]
}): AdmittedRuns {
  const { overlap, open, waiting, due } = options
  const runs = [...waiting, ...due]
  const newest = runs.at(-1)
  if (newest === undefined) return { start: null, wait: [], skip: [], cancelOther: false }
  if (overlap === 'CANCEL_OTHER') {
    const skip = runs.slice(0, -1).map((run) => ({ run, reason: REPLACED }))
    if (!open) return { start: newest, wait: [], skip, cancelOther: false }
    return { start: null, wait: [newest], skip, cancelOther: due.length > 0 }
  }
  const [first, ...rest] = runs
  const start = open ? null : first!
  const others = open ? runs : rest
  // Runs that wait already stay, whatever the schedule has become since.
  const places = overlap === 'QUEUE' ? SCHEDULE_QUEUE_MAX : 0
  const wait = others.filter((run, index) => run.queuedId !== null || index < places)
  const reason = overlap === 'QUEUE' ? SKIPPED_FOR_QUEUE : SKIPPED_FOR_EARLIER
  const skip = others.filter((run) => !wait.includes(run)).map((run) => ({ run, reason }))
  return { start, wait, skip, cancelOther: false }
}
