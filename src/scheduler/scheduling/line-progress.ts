import {
  CLAIM_BATCH_SESSIONS_MAX,
  EXPIRED_PER_LOOK_MAX,
  LANE_LOOKS_MAX,
  LANES_PER_LOOK_MAX,
  LINE_HOLDERS_MAX,
} from '../../domain/limits.ts'
import type { PendingClaim } from '../../store/sql/scheduling/claim-pending.sql.ts'
import type { PendingGroup } from '../../store/sql/scheduling/pending-groups.sql.ts'

/**
 * What one server remembers about the queue of a resource group between passes. It affects only the cost of a pass, not
 * its correctness.
 */
export interface LineProgress {
  /** Sessions to claim: about twice as many as were last placed, since each costs a lock even if it does not fit. */
  reach: number
  /** At the last pass, the queue was longer than the head that was claimed. */
  lineIsLong: boolean
  /** The lane after which to continue; null for the first. */
  fromLane: string | null
  /** Consecutive passes that found nothing to do while there are unseen lanes. */
  idleLooks: number
  /** When expired sessions were last searched for, as `performance.now()`. */
  expiredAt: number
  /** There may be more to do at once. */
  lookAgain: boolean
}

const REACH_MIN_SESSIONS = 32
const EXPIRED_INTERVAL_MS = 1_000

export function newLineProgress(): LineProgress {
  return {
    reach: CLAIM_BATCH_SESSIONS_MAX,
    lineIsLong: false,
    fromLane: null,
    idleLooks: 0,
    expiredAt: Number.NEGATIVE_INFINITY,
    lookAgain: false,
  }
}

export function nextClaim(group: PendingGroup, progress: LineProgress): PendingClaim {
  const reach = Math.min(progress.reach, CLAIM_BATCH_SESSIONS_MAX)
  const looksForExpired = group.expires && performance.now() - progress.expiredAt >= EXPIRED_INTERVAL_MS
  if (looksForExpired) progress.expiredAt = performance.now()
  return {
    resourceGroup: group.name,
    // With DRF, shares decide what is next, whatever its position in the queue.
    head: group.sequencer === 'DRF' ? 0 : reach,
    youngestFirst: group.sequencer === 'LIFO',
    lanes: LANES_PER_LOOK_MAX,
    fromLane: progress.fromLane,
    laneSessions: reach,
    holders: LINE_HOLDERS_MAX,
    expired: looksForExpired ? EXPIRED_PER_LOOK_MAX : 0,
  }
}

export function noteLook(
  progress: LineProgress,
  look: { placed: number; moreAtOnce: boolean; nextLane: string | null },
): void {
  const lanesUnseen = progress.fromLane !== null || look.nextLane !== null
  progress.idleLooks = look.moreAtOnce || look.placed > 0 ? 0 : progress.idleLooks + 1
  progress.lookAgain = look.moreAtOnce || (lanesUnseen && progress.idleLooks < LANE_LOOKS_MAX)
  if (!progress.lookAgain) progress.idleLooks = 0
  progress.fromLane = look.nextLane
  progress.reach = Math.max(REACH_MIN_SESSIONS, look.placed * 2)
}
