import { GROUP_INDEX_MAX } from '../limits.ts'

/**
 * Sessions that are one piece of work, such as the tasks of an array. The members are chains: a failed attempt that is
 * retried is no failure of the group.
 *
 *   OPEN, RUNNING → ENDING → SUCCEEDED, FAILED or CANCELLED
 *
 * RUNNING turns into ENDING when the outcome is decided, and that into the outcome when no member is left that may still
 * change. Nothing but settle-groups moves it, from the counts of its members, which the database keeps in the
 * transactions that change them. A resubmission of a member of an ended group reopens it, in a new epoch.
 */
export const GROUP_STATES = ['OPEN', 'RUNNING', 'ENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type GroupState = (typeof GROUP_STATES)[number]

export const GROUP_OUTCOMES = ['SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type GroupOutcome = (typeof GROUP_OUTCOMES)[number]

/** What becomes of running members once the group has failed. */
export const GROUP_RESTS = ['LET_RUN', 'STOP'] as const
export type GroupRest = (typeof GROUP_RESTS)[number]

/**
 * What a group waits for in another one: its success, its end, or with SAME_INDEX each member for the member of the same
 * index there.
 */
export const GROUP_CONDITIONS = ['ALL_SUCCEEDED', 'ENDED', 'SAME_INDEX'] as const
export type GroupCondition = (typeof GROUP_CONDITIONS)[number]
/** The letters that stand for the states of members, each with the state in words. */
export const MEMBER_STATES = {
  Q: 'in the queue',
  R: 'running',
  W: 'waiting for a retry',
  H: 'its retry is held',
  S: 'succeeded',
  F: 'failed',
  C: 'cancelled',
} as const

/** Numbers of members. */
export interface GroupCounts {
  total: number
  /** Queued or running. */
  live: number
  /** Waiting for a retry. */
  waiting: number
  succeeded: number
  failed: number
  cancelled: number
}

export interface GroupLimits {
  maxFailed: number | null
  /** Of the members, 0 to 100. */
  maxFailedPercent: number | null
  minSucceeded: number | null
}

/** What a group is judged by. */
export interface GroupFacts extends GroupLimits {
  counts: GroupCounts
  isOpen: boolean
  /** The name of a group whose success it waited for in vain; null for none. */
  dependencyFailed: string | null
  /** The name of the person who cancelled it. */
  cancelledBy: string | null
  /** How often it was reopened. */
  epoch: number
}

export interface GroupVerdict {
  outcome: GroupOutcome
  reason: string
}

export function groupState(group: { isOpen: boolean; outcome: GroupOutcome | null; endedAt: Date | null }): GroupState {
  if (group.outcome === null) return group.isOpen ? 'OPEN' : 'RUNNING'
  return group.endedAt === null ? 'ENDING' : group.outcome
}

/**
 * The number of failed members with which the group fails; null if any number may fail before it ends. 0 counts as 1,
 * because no group has failed before a member has.
 */
export function failureLimit({ maxFailed, maxFailedPercent }: GroupLimits, total: number): number | null {
  const limits = [maxFailed, maxFailedPercent === null ? null : Math.ceil((maxFailedPercent / 100) * total)]
  const given = limits.filter((limit) => limit !== null)
  return given.length === 0 ? null : Math.max(1, Math.min(...given))
}

/** Decides the outcome of a group; null while it may still change. */
export function judgeGroup(group: GroupFacts): GroupVerdict | null {
  const { counts, isOpen, cancelledBy, dependencyFailed, minSucceeded, epoch } = group
  const { total, live, waiting, succeeded, failed, cancelled } = counts
  if (cancelledBy !== null) return { outcome: 'CANCELLED', reason: `cancelled by ${cancelledBy}` }
  const isOver = !isOpen && live + waiting === 0
  if (dependencyFailed !== null && epoch === 0)
    return { outcome: 'FAILED', reason: `depends on group ${dependencyFailed}, which did not succeed` }
  // Early outcomes do not apply to a reopened group: its resubmitted members run to their ends.
  if (epoch > 0 && !isOver) return null
  if (minSucceeded !== null && succeeded >= minSucceeded)
    return { outcome: 'SUCCEEDED', reason: `${succeeded} of ${total} succeeded, and ${minSucceeded} were needed` }
  // A percentage of members that are still being added says nothing yet.
  const limit = failureLimit(isOpen ? { ...group, maxFailedPercent: null } : group, total)
  if (limit !== null && failed >= limit)
    return { outcome: 'FAILED', reason: `${failed} of ${total} failed, and the limit is ${limit}` }
  const missing = minSucceeded === null ? 0 : minSucceeded - succeeded
  if (minSucceeded !== null && !isOpen && live + waiting < missing)
    return { outcome: 'FAILED', reason: `no more than ${succeeded + live + waiting} of ${minSucceeded} can succeed` }
  if (!isOver) return null
  if (failed > 0 && limit === null) return { outcome: 'FAILED', reason: `${failed} of ${total} failed` }
  if (cancelled > 0) return { outcome: 'CANCELLED', reason: `${cancelled} of ${total} were cancelled` }
  const some = failed === 0 ? '' : `, and ${failed} failed, fewer than ${limit}`
  return { outcome: 'SUCCEEDED', reason: `${succeeded} of ${total} succeeded${some}` }
}

/** The members that are ended once the outcome is decided: all, or only those that do not run. */
export function endsRunning({ outcome, onFailure }: { outcome: GroupOutcome; onFailure: GroupRest }): boolean {
  return outcome !== 'FAILED' || onFailure === 'STOP'
}

/** The share of members that have ended, 0 to 1; 0 without members. */
export function groupProgress({ total, succeeded, failed, cancelled }: GroupCounts): number {
  return total === 0 ? 0 : Math.min(1, (succeeded + failed + cancelled) / total)
}

/** The rate of fewer ended members says nothing about the rest: this number, and this share of all. */
const RATED_MEMBERS_MIN = 5
const RATED_SHARE_MIN = 0.01

/**
 * Estimates when a group ends, from the rate at which its members have ended so far; null if too few have, or if the
 * rate says nothing: all others wait for retries, the group may get more members, is being ended, or was reopened.
 */
export function expectedEnd(
  { counts, isOpen, cancelledBy, epoch, minSucceeded }: GroupFacts,
  { startedAt, outcome, now }: { startedAt: Date | null; outcome: GroupOutcome | null; now: Date },
): Date | null {
  const { total, live, waiting, succeeded, failed } = counts
  if (startedAt === null || isOpen || cancelledBy !== null || outcome !== null || epoch > 0) return null
  if (live === 0) return null
  const rated = succeeded + failed
  if (rated < Math.max(RATED_MEMBERS_MIN, RATED_SHARE_MIN * total)) return null
  const needed = minSucceeded === null || succeeded === 0 ? Infinity : (minSucceeded - succeeded) * (rated / succeeded)
  const left = Math.min(live + waiting, needed)
  return new Date(now.getTime() + (left * Math.max(0, now.getTime() - startedAt.getTime())) / rated)
}

/** Formats ascending indexes as `1-1000,2000`. */
export function formatIndexes(indexes: readonly number[]): string {
  const parts: string[] = []
  for (let at = 0; at < indexes.length; at++) {
    const first = at
    while (indexes[at + 1] === indexes[at]! + 1) at++
    parts.push(at === first ? String(indexes[first]) : `${indexes[first]}-${indexes[at]}`)
  }
  return parts.join(',')
}

/**
 * Parses indexes such as `1-1000`, `0-99:10` or `1,3,5-7`, as Slurm writes them; without duplicates, ascending.
 *
 * @returns a message for people if they are not valid
 */
export function parseIndexes(text: string, most: number): number[] | string {
  const indexes = new Set<number>()
  for (const part of text.split(',')) {
    const match = /^\s*(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?\s*$/.exec(part)
    if (match === null) return `${JSON.stringify(part)} is no range: write 1-1000, 0-99:10 or 1,3,5-7`
    const [first, last, step] = [Number(match[1]), Number(match[2] ?? match[1]), Number(match[3] ?? 1)]
    if (step === 0 || last < first) return `${JSON.stringify(part.trim())} is an empty range`
    if (last > GROUP_INDEX_MAX) return `indexes go up to ${GROUP_INDEX_MAX}`
    if ((last - first) / step >= most) return `at most ${most} members in one call`
    for (let index = first; index <= last; index += step) indexes.add(index)
    if (indexes.size > most) return `at most ${most} members in one call`
  }
  return [...indexes].toSorted((a, b) => a - b)
}
