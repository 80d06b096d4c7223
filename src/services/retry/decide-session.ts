import { retryEventData } from '../../domain/retry/event-data.ts'
import { decideRetry } from '../../domain/retry/decide.ts'
import { verdict, type RetryVerdict } from '../../domain/retry/verdict.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import type { UndecidedSession } from '../../store/sql/retry/claim-undecided.sql.ts'
import type { DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'

/** A decision that throws is a bug: that session is not retried, and the others are still decided. */
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

/** The decision about this session, with a retry that would be scheduled cancelled from the start. */
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
