import { retryCancelledBy, retryEventData } from '../../domain/retry/explain.ts'
import { decideRetry } from '../../domain/retry/decide.ts'
import { type RetryVerdict, verdict } from '../../domain/retry/verdict.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import { readUndecided, type UndecidedSession } from '../../store/sql/retry/claim-undecided.sql.ts'
import { type DecisionRow, recordDecisions } from '../../store/sql/retry/record-decisions.sql.ts'
import { isTerminal } from '../../domain/session/lifecycle.ts'
import type { Queryable } from '../../store/database.ts'
import type { Actor } from '../../store/sql/access/audit.sql.ts'
import { changePendingRetries, type LockedSession, markCancelled } from '../../store/sql/retry/change-retry.sql.ts'
import { wakeDependents } from '../../store/sql/session/creation-scope.sql.ts'
import { terminateSessionRows } from '../../store/sql/session/terminate-session.sql.ts'
import { type ErrorCode, RepriseError } from '../../domain/errors.ts'
import { insertRetries } from '../../store/sql/session/insert-sessions.sql.ts'
import type { NewRetry } from '../../store/sql/session/session-columns.sql.ts'
import type { Prisma } from '../../store/prisma.ts'
import { projectScope } from '../access/tenants.ts'
import type { ReadContext } from '../session/read-sessions.ts'

/**
 * Decides about a session. A decision that throws is a bug: that session is not retried, and the others are still
 * decided.
 */
export function decideSession(session: UndecidedSession, log: Pick<Logger, 'error'>): RetryVerdict {
  try {
    const decided = decideRetry({ session, policy: session.retryPolicy, now: session.now, random: Math.random() })
    if (decided.cause === null && decided.phase === 'NOT_ELIGIBLE') {
      log.error({ sessionId: session.id, statusData: session.statusData }, decided.explanation)
    }
    return decided
  } catch (error) {
    log.error({ sessionId: session.id, err: error }, 'the retry decision failed')
    const explanation = `not retried: the decision failed: ${messageOf(error)}`
    return verdict('NOT_ELIGIBLE', { explanation })
  }
}

export function decisionRow(session: UndecidedSession, decided: RetryVerdict): DecisionRow {
  return {
    sessionId: session.id,
    projectId: session.projectId,
    chainId: session.chainId,
    phase: decided.phase,
    cause: decided.cause,
    matchedRule: decided.matchedRule,
    counted: decided.counted,
    baseDelayMs: decided.baseMs,
    jitterMs: decided.jitterMs,
    delayMs: decided.delayMs,
    dueAt: decided.dueAt?.toISOString() ?? null,
    explanation: decided.explanation,
    details: { growth: decided.growth, avoid: decided.avoid, exclude: decided.exclude },
    event: decided.emit,
    eventData: decided.emit && retryEventData(session, decided, { reason: decided.explanation }),
  }
}

/** Decides about a session that has ended. In a cancelled chain, a retry that would be scheduled is cancelled. */
export function decide(session: UndecidedSession, log: Pick<Logger, 'error'>): DecisionRow {
  if (session.cancelledBy !== null) return cancelledDecision(session, log, retryCancelledBy(session.cancelledBy))
  return decisionRow(session, decideSession(session, log))
}

/** Decides about a session, but cancels a retry that would be scheduled. */
export function cancelledDecision(session: UndecidedSession, log: Pick<Logger, 'error'>, reason: string): DecisionRow {
  const row = decisionRow(session, decideSession(session, log))
  if (row.phase !== 'SCHEDULED') return row
  return {
    ...row,
    phase: 'CANCELLED',
    explanation: `${row.explanation}; ${reason}`,
    event: row.event && 'session.retry_cancelled',
    eventData: row.eventData && { ...row.eventData, reason },
  }
}

interface EndedAttempts {
  /** Ids of the sessions that were terminated or lost their retry. */
  ended: Set<string>
  /** Number of retries that were pending, or about to be. */
  retries: number
}

/**
 * Ends the chains of these sessions, their newest attempts, which the transaction has locked: live ones are terminated,
 * and ended ones lose a retry that is pending or about to be scheduled. The chains are marked as cancelled. `retryNote` is the text that is appended to the explanation of such a retry.
 */
export async function endAttempts(
  tx: Queryable,
  sessions: readonly LockedSession[],
  options: { actor: Actor; force: boolean; reason: string; retryNote: string; log: Pick<Logger, 'error'> },
): Promise<EndedAttempts> {
  const { actor, force, reason, retryNote, log } = options
  const idsOf = (wanted: (session: LockedSession) => boolean) => sessions.filter(wanted).map(({ id }) => id)
  const live = idsOf(({ status }) => !isTerminal(status))
  await terminateSessionRows(tx, live, { actor, force, reason })
  // A session that has ended may have a pending retry, or be about to get one.
  const waiting = idsOf(({ retryPhase }) => retryPhase === 'SCHEDULED' || retryPhase === 'HELD')
  await changePendingRetries(tx, 'cancel', { sessionIds: waiting, actor, message: retryNote })
  const undecided = await readUndecided(
    tx,
    idsOf(({ status, retryDecided }) => isTerminal(status) && !retryDecided),
  )
  const decisions = undecided
    .map((session) => cancelledDecision(session, log, retryNote))
    .filter(({ phase }) => phase === 'CANCELLED')
  const chainIds = decisions.map(({ chainId }) => chainId)
  // Marked before the decisions are written, because a chain's state is computed when its decision is written.
  await markCancelled(tx, chainIds, actor)
  await recordDecisions(tx, decisions, actor)
  if (chainIds.length > 0) await wakeDependents(tx, chainIds)
  return {
    ended: new Set([...live, ...waiting, ...decisions.map(({ sessionId }) => sessionId)]),
    retries: waiting.length + decisions.length,
  }
}

export interface Refusal {
  code: ErrorCode
  message: string
}

/**
 * Creates the automatic retries of failed sessions. Returns, by parent, those that can never be created: their creation
 * id is in use by an unrelated session. The caller has already checked limits on pending sessions.
 */
export async function addRetries(tx: Queryable, retries: readonly NewRetry[]): Promise<Map<string, Refusal>> {
  const inserted = await insertRetries(tx, retries)
  const refused = retries.filter((child) => !inserted.has(child.id))
  return new Map(
    refused.map((child) => [
      child.parentSessionId,
      { code: 'CREATION_ID_REUSED', message: `another session has the creation id ${child.creationId}` },
    ]),
  )
}

const RELATED = { waits: { orderBy: { number: 'asc' } } } as const satisfies Prisma.RetryDecisionInclude

export type RetryDecisionRecord = Prisma.RetryDecisionGetPayload<{ include: typeof RELATED }>

/**
 * Reads the decision about a session's retry, with its hold reasons; null if there is none yet.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export async function readRetryDecision(
  { prisma, viewer }: Pick<ReadContext, 'prisma' | 'viewer'>,
  sessionId: string,
): Promise<RetryDecisionRecord | null> {
  const where = { id: sessionId, ...projectScope(viewer) }
  const session = await prisma.session.findFirst({ where, select: { decision: { include: RELATED } } })
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  return session.decision
}
