import type { Judged } from '../domain/session/judge.ts'
import type { Logger } from '../observability/log.ts'
import type { Tracer } from '../observability/trace.ts'
import type { SessionMove } from '../store/sql/session/apply-moves.sql.ts'
import { describeMove, type Batch } from './coordinator.ts'

/** The fields of a session that the coordinator needs to judge and report it. */
export interface HandledSession extends Judged {
  id: string
  chainId: string
  attempt: number
  traceParent: string | null
}

/**
 * Called after the commit. Logs one line per outcome, at info for a failure that moved the session, and records a span
 * for the sessions that moved. Sessions that keep waiting are in neither; their history says why.
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
