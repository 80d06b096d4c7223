import type { LifecycleDeclaration } from '../domain/session/lifecycle.ts'
import { type FailedStep, judge, type Judged, type Judgement, type Outcome } from '../domain/session/judge.ts'
import type { WakeTopic } from '../domain/wake.ts'
import { applyMoves, type SessionMove } from '../store/sql/session/apply-moves.sql.ts'
import type { RunReport } from './background-service.ts'
import {
  type Batch,
  type CoordinatorContext,
  describeMove,
  type EntityKind,
  type Handler,
  runHandler,
} from './coordinator.ts'
import type { Logger } from '../observability/log.ts'
import type { Tracer } from '../observability/trace.ts'

/** The result of a handler, which the coordinator judges. A session in no list is only checked for its timeout. */
export interface HandlerResult {
  successes: string[]
  failures: ({ id: string } & FailedStep)[]
  skipped: { id: string; reason: string; pauseMs?: number }[]
}

export interface LifecycleHandler<Session extends HandledSession> extends Handler<
  Session,
  LifecycleDeclaration,
  HandlerResult
> {
  /** A handler that is certain to succeed after this one: both are written as one move. */
  followedBy: LifecycleDeclaration | null
}

type Sessions = EntityKind<HandledSession, LifecycleDeclaration, HandlerResult, SessionMove>

/**
 * Returns how the coordinator handles sessions: it judges them by their tries and timeouts, and moves their kernels
 * with them.
 */
function sessionsOf({ followedBy, agentsOf }: Pick<LifecycleHandler<never>, 'followedBy' | 'agentsOf'>): Sessions {
  return {
    judge(declaration, sessions, result) {
      const outcomes = outcomesById(result)
      return sessions.flatMap((session) => {
        const outcome = outcomes.get(session.id)
        // The sessions are those that this handler has claimed.
        const agents = () => agentsOf(session as never)
        const move = moveFor(declaration, session, outcome, agents)
        return move ? continueMove(move, followedBy) : []
      })
    },
    apply: (tx, handler, moves) => applyMoves(tx, handler, moves, followedBy?.name),
    topicsToWake,
    report(context, handler, batch) {
      const { moves } = batch
      reportMoves(context, handler, {
        ...batch,
        moves: moves.map((move) => ({ ...move, to: move.through ?? move.to })),
      })
      if (!followedBy) return
      const second = moves.flatMap((move) => (move.through === null ? [] : { ...move, from: move.through }))
      reportMoves(context, followedBy.name, { ...batch, moves: second })
    },
  }
}

export function runLifecycle<Session extends HandledSession>(
  context: CoordinatorContext,
  handler: LifecycleHandler<Session>,
): Promise<RunReport> {
  return runHandler<Session, LifecycleDeclaration, HandlerResult, SessionMove>(context, sessionsOf(handler), handler)
}

function outcomesById(result: HandlerResult): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>()
  for (const id of result.successes) outcomes.set(id, { kind: 'success' })
  for (const { id, ...failure } of result.failures) outcomes.set(id, { kind: 'failure', ...failure })
  for (const { id, ...skip } of result.skipped) outcomes.set(id, { kind: 'skipped', ...skip })
  return outcomes
}

/** Adds the next handler's move to a successful move. */
function continueMove(move: SessionMove, followedBy: LifecycleDeclaration | null): SessionMove {
  const next = followedBy?.success.session
  if (!next || move.outcome !== 'SUCCESS' || move.to === move.from) return move
  return { ...move, through: move.to, to: next }
}

function moveFor(
  declaration: LifecycleDeclaration,
  session: HandledSession,
  outcome: Outcome | undefined,
  agents: () => readonly string[],
): SessionMove | undefined {
  const judgement = judge(declaration, session, outcome)
  if (!judgement) return undefined
  const { error, ...move } = judgement
  const ends = judgement.result === 'FAILURE'
  return {
    ...move,
    id: session.id,
    from: session.status,
    through: null,
    reason: ends && error ? error.message : null,
    statusData: ends && error ? { error } : null,
    errorCode: error?.name ?? null,
    message: error?.message ?? judgement.pendingReason,
    agentIds: agentsConcerned(judgement, agents),
  }
}

/** The agents that a success was about, or that caused a failure. */
function agentsConcerned(
  { outcome, error, failedAgents }: Pick<Judgement, 'outcome' | 'error' | 'failedAgents'>,
  agents: () => readonly string[],
): string[] | null {
  const failed = error?.agentId === undefined ? failedAgents : [error.agentId]
  const found = new Set(outcome === 'SUCCESS' ? agents() : failed)
  return found.size === 0 ? null : [...found].toSorted()
}

/**
 * Returns the topics to wake because of the moves, in addition to the handler's own `wakes`: for moves back to the
 * queue, to termination, or to an end.
 */
function topicsToWake(moves: readonly SessionMove[]): WakeTopic[] {
  const topics = new Set<WakeTopic>()
  for (const { from, to } of moves) {
    if (to === from) continue
    topics.add('events')
    if (to === 'PENDING') topics.add('schedule-sessions')
    if (to === 'TERMINATING') topics.add('terminate-sessions').add('promote-to-terminated')
    if (to === 'CANCELLED' || to === 'TERMINATED') topics.add('decide-retries')
  }
  return [...topics]
}

/** The fields of a session that the coordinator needs to judge and report it. */
export interface HandledSession extends Judged {
  id: string
  chainId: string
  attempt: number
  traceParent: string | null
}

/**
 * Called after the commit. Logs one line per outcome, at info for a failure that moved the session, and records a span
 * for the sessions that moved. Sessions that keep waiting are in neither; their history has the reason.
 */
export function reportMoves(
  { log, trace }: { log: Logger; trace: Tracer },
  handler: string,
  { begunAt, claimed, moves }: Batch<HandledSession, SessionMove>,
): void {
  const moved = moves.filter(({ outcome }) => outcome !== 'SKIPPED')
  if (moved.length === 0) return
  const sessions = new Map(claimed.map((session) => [session.id, session]))
  for (const move of moved) logMove(log, handler, sessions.get(move.id)!, move)
  const gone = moved.filter(({ from, to }) => from !== to).map(({ id, to }) => traced(sessions.get(id)!, to))
  trace.recordBatch(handler, begunAt, gone)
}

function logMove(log: Logger, handler: string, { id: sessionId, chainId, attempt }: HandledSession, move: SessionMove) {
  const { outcome, from, to, errorCode } = move
  const level = outcome === 'SUCCESS' || from === to ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  log[level]({ handler, sessionId, chainId, attempt, outcome, errorCode }, describeMove(handler, move))
}

function traced({ id, chainId, attempt, traceParent }: HandledSession, to: string) {
  return { sessionId: id, chainId, attempt, traceParent, attributes: { 'reprise.status': to } }
}
