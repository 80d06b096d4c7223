import {
  CLAIM_BATCH_SESSIONS_MAX,
  EXPIRED_PER_PASS_MAX,
  CLASS_PASSES_MAX,
  CLASSES_PER_PASS_MAX,
  OVERDUE_PER_PASS_MAX,
} from '../../domain/limits.ts'
import type { PendingClaim } from '../../store/sql/scheduling/claim-pending.sql.ts'
import type { PendingGroup } from '../../store/sql/scheduling/pending-groups.sql.ts'

/**
 * A server's notes about the queue of a resource group, kept between passes. They affect only the cost of a pass, not
 * its result.
 */
export interface QueueProgress {
  /**
   * Number of sessions to claim: twice as many as left the queue in the last pass. More would be wasteful, because each
   * claimed session costs a lock even if it is not placed.
   */
  reach: number
  /** Whether the queue was longer than the claimed head at the last pass. */
  lineIsLong: boolean
  /** The scheduling class after which to continue; null for the first. */
  fromClass: string | null
  /**
   * Number of consecutive passes in which no session left the queue. The next pass follows at once until
   * CLASS_PASSES_MAX, if there are classes that were not considered.
   */
  idlePasses: number
  /** When expired sessions were last searched for, as `performance.now()`. */
  expiredAt: number
  /** Whether the next pass should follow at once. */
  passAgain: boolean
}

const REACH_MIN_SESSIONS = 32
const EXPIRED_INTERVAL_MS = 1_000

export function newQueueProgress(): QueueProgress {
  return {
    reach: CLAIM_BATCH_SESSIONS_MAX,
    lineIsLong: false,
    fromClass: null,
    idlePasses: 0,
    expiredAt: Number.NEGATIVE_INFINITY,
    passAgain: false,
  }
}

export function nextClaim(group: PendingGroup, progress: QueueProgress): PendingClaim {
  const reach = Math.min(progress.reach, CLAIM_BATCH_SESSIONS_MAX)
  const wantsExpired = group.expires && performance.now() - progress.expiredAt >= EXPIRED_INTERVAL_MS
  if (wantsExpired) progress.expiredAt = performance.now()
  return {
    resourceGroup: group.name,
    // With DRF, shares decide which session is next, and not its position in the queue.
    head: group.sequencer === 'DRF' ? 0 : reach,
    youngestFirst: group.sequencer === 'LIFO',
    classes: CLASSES_PER_PASS_MAX,
    fromClass: progress.fromClass,
    classSessions: reach,
    overdue: OVERDUE_PER_PASS_MAX,
    expired: wantsExpired ? EXPIRED_PER_PASS_MAX : 0,
  }
}

export function notePass(
  progress: QueueProgress,
  pass: { left: number; moreAtOnce: boolean; nextClass: string | null },
): void {
  const classesUnseen = progress.fromClass !== null || pass.nextClass !== null
  progress.idlePasses = pass.moreAtOnce || pass.left > 0 ? 0 : progress.idlePasses + 1
  progress.passAgain = pass.moreAtOnce || (classesUnseen && progress.idlePasses < CLASS_PASSES_MAX)
  if (!progress.passAgain) progress.idlePasses = 0
  progress.fromClass = pass.nextClass
  progress.reach = Math.max(REACH_MIN_SESSIONS, pass.left * 2)
}
