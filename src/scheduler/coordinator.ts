import type { Lease } from '../domain/agent/lease.ts'
import { CLAIM_BATCH_SESSIONS_MAX } from '../domain/limits.ts'
import type { Wake, WakeTopic } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Tracer } from '../observability/trace.ts'
import type { Database, Queryable } from '../store/database.ts'
import type { ClaimBounds } from '../store/sql/session/claim-sessions.sql.ts'
import type { RunReport } from './background-service.ts'

/** The decision about one claimed entity; `to` equals `from` if it stays. */
export interface Move {
  id: string
  from: string
  to: string
  /** Earliest time of the next pass; if missing, only a wake-up or the interval triggers one. */
  pauseMs?: number | null
}

export interface CoordinatorContext {
  db: Database
  wake: Wake
  lease: Lease
  log: Logger
  trace: Tracer
}

/** A committed batch. */
export interface Batch<Item, Decided extends Move> {
  begunAt: Date
  claimed: readonly Item[]
  moves: readonly Decided[]
}

/** The part that all handlers of one kind of entity share: how results are judged, written and reported. */
export interface EntityKind<Item, Declaration, Result, Decided extends Move> {
  /** Turns the result of a handler into moves, and leaves out entities without consequences. Pure. */
  judge(declaration: Declaration, items: readonly Item[], result: Result): Decided[]
  /** Writes moves with history and events; skips entities that have moved in the meantime. */
  apply(tx: Queryable, handler: string, moves: readonly Decided[]): Promise<unknown>
  /**
   * Services that have work after these moves, independently of the handler that made them, or after the handler's own
   * writes.
   */
  topicsToWake(moves: readonly Decided[], result: Result): readonly WakeTopic[]
  /** Called after the commit. */
  report(context: CoordinatorContext, handler: string, batch: Batch<Item, Decided>): void
}

export interface Handler<Item, Declaration extends { name: string }, Result> {
  declaration: Declaration
  /** Claims entities and locks them for the transaction. */
  claim(tx: Queryable, bounds: ClaimBounds): Promise<Item[]>
  execute(tx: Queryable, items: Item[]): Promise<Result>
  /** Topics to wake when an entity has moved. */
  wakes: readonly WakeTopic[]
  /** Agents to wake when an entity has moved. */
  agentsOf(item: Item): string[]
}

/**
 * Runs one batch of one handler in one transaction: claim, execute, judge, apply with history and events. A crash at
 * any point undoes the whole batch, and the entities are claimed again.
 */
export async function runHandler<Item, Declaration extends { name: string }, Result, Decided extends Move>(
  context: CoordinatorContext,
  kind: EntityKind<Item, Declaration, Result, Decided>,
  handler: Handler<Item, Declaration, Result>,
): Promise<RunReport & { claimed: number }> {
  const { db, wake, lease } = context
  const { declaration } = handler
  const limit = CLAIM_BATCH_SESSIONS_MAX
  const begunAt = new Date()
  const batch = await db.transaction(async (tx) => {
    const claimed = await handler.claim(tx, { limit, fenceMarginMs: lease.fenceMarginMs })
    if (claimed.length === 0) return undefined
    const result = await handler.execute(tx, claimed)
    const moves = kind.judge(declaration, claimed, result)
    await kind.apply(tx, declaration.name, moves)
    return { claimed, moves, result }
  })
  if (!batch) return { claimed: 0, done: 0, more: false, againInMs: null }
  const { claimed, moves, result } = batch
  const moved = moves.some((move) => move.to !== move.from)
  wake.wake(...(moved ? handler.wakes : []), ...kind.topicsToWake(moves, result))
  kind.report(context, declaration.name, { begunAt, claimed, moves })
  wake.wakeAgents([...new Set(claimed.flatMap((item) => handler.agentsOf(item)))])
  const more = moved && claimed.length === limit
  return { claimed: claimed.length, done: moves.length, more, againInMs: soonest(moves) }
}

function soonest(moves: readonly Move[]): number | null {
  const pauses = moves.flatMap(({ pauseMs }) => pauseMs ?? [])
  return pauses.length === 0 ? null : Math.min(...pauses)
}

/** The text of the log line about a move, or about an outcome that moved nothing. */
export function describeMove(
  handler: string,
  { from, to, outcome, message }: { from: string; to: string; outcome: string; message: string | null },
): string {
  const move = from === to ? `${handler}: ${outcome} in ${from}` : `${handler}: ${from} → ${to}`
  return message === null ? move : `${move}: ${message}`
}
