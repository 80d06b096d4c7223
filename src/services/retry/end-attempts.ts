import { isTerminal } from '../../domain/session/statuses.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import type { Actor } from '../../store/sql/access/record-audit.sql.ts'
import type { LockedSession } from '../../store/sql/retry/lock-sessions.sql.ts'
import { changePendingRetries } from '../../store/sql/retry/change-retry.sql.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { recordDecisions } from '../../store/sql/retry/record-decisions.sql.ts'
import { wakeDependents } from '../../store/sql/session/dependencies.sql.ts'
import { terminateSessionRows } from '../../store/sql/session/terminate-session.sql.ts'
import { cancelledDecision } from './decide-session.ts'

export interface EndedAttempts {
  /** Ids of the sessions for which there was something to end. */
  ended: Set<string>
  /** Retries that waited, or were about to. */
  retries: number
}

/**
 * Ends these sessions, which the transaction holds: those that live are terminated, and those that have ended lose the
 * retry for which they wait or are about to. `told`: what is added to the explanation of such a retry.
 */
export async function endAttempts(
  tx: Queryable,
  sessions: readonly LockedSession[],
  options: { actor: Actor; force: boolean; reason: string; told: string; log: Pick<Logger, 'error'> },
): Promise<EndedAttempts> {
  const { actor, force, reason, told, log } = options
  const idsOf = (wanted: (session: LockedSession) => boolean) => sessions.filter(wanted).map(({ id }) => id)
  const live = idsOf(({ status }) => !isTerminal(status))
  await terminateSessionRows(tx, live, { actor, force, reason })
  // What has ended may wait for its retry, or be about to.
  const waiting = idsOf(({ retryPhase }) => retryPhase === 'SCHEDULED' || retryPhase === 'HELD')
  await changePendingRetries(tx, 'cancel', { sessionIds: waiting, actor, message: told })
  const undecided = await readUndecided(
    tx,
    idsOf(({ status, retryDecided }) => isTerminal(status) && !retryDecided),
  )
  const decisions = undecided
    .map((session) => cancelledDecision(session, log, told))
    .filter(({ phase }) => phase === 'CANCELLED')
  await recordDecisions(tx, decisions, actor)
  const chainIds = decisions.map(({ chainId }) => chainId)
  if (chainIds.length > 0) await wakeDependents(tx, chainIds)
  return {
    ended: new Set([...live, ...waiting, ...decisions.map(({ sessionId }) => sessionId)]),
    retries: waiting.length + decisions.length,
  }
}
