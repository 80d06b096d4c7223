import { judge, type Outcome } from '../domain/session/judge.ts'
import type { FailureError } from '../domain/session/failure.ts'
import type { Lease } from '../domain/agent/lease.ts'
import type { LifecycleDeclaration } from '../domain/session/handlers.ts'
import { CLAIM_BATCH_SESSIONS_MAX } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Tracer } from '../observability/trace.ts'
import type { Database, Queryable } from '../store/database.ts'
import { applyMoves, type SessionMove } from '../store/sql/apply-moves.sql.ts'
import type { ClaimBounds } from '../store/sql/claim-sessions.sql.ts'
import type { Wake, WakeTopic } from '../domain/wake.ts'
import type { RunReport } from './background-service.ts'
import { tellMoves, type HandledSession } from './tell-moves.ts'

/** What a handler says happened; the coordinator judges. Sessions in no list only grow older. */
export interface HandlerResult {
  successes: string[]
  failures: { id: string; error: FailureError; giveUpNow?: boolean }[]
  skipped: { id: string; reason: string; pauseMs?: number }[]
}

export interface LifecycleHandler<Session extends HandledSession> {
  declaration: LifecycleDeclaration
  /** Takes and holds sessions for the transaction. */
  claim(tx: Queryable, bounds: ClaimBounds): Promise<Session[]>
  execute(tx: Queryable, sessions: Session[]): Promise<HandlerResult>
  /** Whom to wake when sessions have moved. */
  wakes: readonly WakeTopic[]
  /** Agents that have something new to hear of a session. */
  agentsOf(session: Session): string[]
}

/**
 * One batch of one handler in one transaction: claim, execute, judge, apply with history and events. A crash
 * anywhere leaves nothing of it; the sessions are claimed again.
 */
export async function runLifecycle<Session extends HandledSession>(
  context: { db: Database; wake: Wake; lease: Lease; log: Logger; trace: Tracer },
  handler: LifecycleHandler<Session>,
): Promise<RunReport> {
  const limit = CLAIM_BATCH_SESSIONS_MAX
  const begunAt = new Date()
  const { claimed, moves } = await context.db.transaction(async (tx) => {
    const sessions = await handler.claim(tx, { limit, fenceMarginMs: context.lease.fenceMarginMs })
    if (sessions.length === 0) return { claimed: [], moves: [] }
    const outcomes = outcomesById(await handler.execute(tx, sessions))
    const judged = sessions.flatMap((session) => moveFor(handler.declaration, session, outcomes.get(session.id)) ?? [])
    await applyMoves(tx, handler.declaration.name, judged)
    return { claimed: sessions, moves: judged }
  })
  if (moves.some((move) => move.to !== move.from)) {
    context.wake.wake(...handler.wakes, ...awaitedBy(moves))
  }
  tellMoves(context, handler.declaration.name, { begunAt, claimed, moves })
  context.wake.wakeAgents([...new Set(claimed.flatMap((session) => handler.agentsOf(session)))])
  return {
    done: moves.length,
    more: claimed.length === limit && moves.some((move) => move.to !== move.from),
    againInMs: soonest(moves),
  }
}

function outcomesById(result: HandlerResult): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>()
  for (const id of result.successes) outcomes.set(id, { kind: 'success' })
  for (const { id, ...failure } of result.failures) outcomes.set(id, { kind: 'failure', ...failure })
  for (const { id, ...skip } of result.skipped) outcomes.set(id, { kind: 'skipped', ...skip })
  return outcomes
}

function moveFor(
  declaration: LifecycleDeclaration,
  session: HandledSession,
  outcome: Outcome | undefined,
): SessionMove | undefined {
  const judgement = judge(declaration, session, outcome)
  if (!judgement) return undefined
  const { error, ...move } = judgement
  const ends = judgement.result === 'FAILURE'
  return {
    ...move,
    id: session.id,
    from: session.status,
    failedAgentId: error?.agentId ?? null,
    reason: ends && error ? error.message : null,
    statusData: ends && error ? { error } : null,
    errorCode: error?.name ?? null,
    message: error?.message ?? judgement.pendingReason,
  }
}

/** Whatever left the usual way: back in the queue, on its way out, or finished. */
function awaitedBy(moves: readonly SessionMove[]): WakeTopic[] {
  const topics = new Set<WakeTopic>(['events'])
  for (const { to } of moves) {
    if (to === 'PENDING') topics.add('schedule-sessions')
    if (to === 'TERMINATING') topics.add('terminate-sessions').add('promote-to-terminated')
    if (to === 'CANCELLED' || to === 'TERMINATED') topics.add('decide-retries')
  }
  return [...topics]
}

function soonest(moves: readonly SessionMove[]): number | null {
  const pauses = moves.flatMap(({ pauseMs }) => (pauseMs === null ? [] : [pauseMs]))
  return pauses.length === 0 ? null : Math.min(...pauses)
}
