import type { FailureCause } from '../../domain/session/causes.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import type { LockedTarget } from '../../store/sql/session/lock-targets.sql.ts'
import { recordDecisions, type DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'
import type { HeldResubmission } from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { cancelledDecision } from '../retry/decide-session.ts'
import { actorNamed } from '../access/actor.ts'

export type MadeDecision = Pick<DecisionRow, 'phase' | 'cause'>

/**
 * Decisions about sessions that were resubmitted before they were decided: the same as decide-retries would make,
 * except that a retry it would schedule is cancelled from the start. Every finished batch session has one decision.
 * decide-retries skips sessions locked by this transaction, and finds nothing left to decide afterwards.
 */
export async function decideForResubmission(
  tx: Queryable,
  { id, actor }: HeldResubmission,
  targets: readonly LockedTarget[],
  log: Logger,
) {
  const open = targets.filter(({ locked, retryDecided }) => locked && !retryDecided)
  const sessions = await readUndecided(
    tx,
    open.map((target) => target.id),
  )
  const says = `superseded by resubmission ${id} by ${actor}`
  const rows = sessions.map((session) => cancelledDecision(session, log, says))
  return {
    /** Failure causes, by session. */
    causes: new Map<string, FailureCause | null>(rows.map(({ sessionId, cause }) => [sessionId, cause])),
    /** For those that now have a child; the others are decided as usual. */
    async record(parents: ReadonlySet<string>): Promise<MadeDecision[]> {
      const made = rows.filter(({ sessionId }) => parents.has(sessionId))
      await recordDecisions(tx, made, actorNamed(actor))
      return made
    },
  }
}
