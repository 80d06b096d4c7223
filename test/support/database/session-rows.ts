import type { FailureCause, HoldReason, RetryPhase } from '../../../src/domain/session/failure.ts'
import type { KernelStatus, SessionResult, SessionStatus } from '../../../src/domain/session/lifecycle.ts'
import type { Queryable } from '../../../src/store/database.ts'

export interface SessionRow {
  id: string
  status: SessionStatus
  result: SessionResult
  reason: string | null
  error: string | null
  exitCode: number | null
  tries: number
  restsMs: number | null
  /** From its newest line of history to its next try. */
  pauseMs: number | null
  reschedules: number
  skips: number
  pendingReason: string | null
  cause: FailureCause | null
  parent: string | null
  attempt: number
  retryCount: number
  origin: string
  avoidAgents: string[]
}

const SESSION = `SELECT id, status, result, status_reason AS reason, status_data #>> '{error,name}' AS error,
  exit_code AS "exitCode", tries, round(extract(epoch FROM next_try_at - reprise_now()) * 1000)::float8 AS "restsMs",
  round(extract(epoch FROM next_try_at - (SELECT last_at FROM scheduling_history h WHERE h.entity_id = sessions.id
    ORDER BY h.id DESC LIMIT 1)) * 1000)::float8 AS "pauseMs",
  reschedules, skips, pending_reason AS "pendingReason", failure_cause AS cause, parent_session_id AS parent, attempt,
  retry_count AS "retryCount", origin, avoid_agents AS "avoidAgents" FROM sessions`

export async function sessionRow(db: Queryable, id: string): Promise<SessionRow> {
  return (await db.query<SessionRow>(`${SESSION} WHERE id = $1`, [id])).rows[0]!
}

/** Oldest first. */
export async function chainRows(db: Queryable, chainId: string): Promise<SessionRow[]> {
  return (await db.query<SessionRow>(`${SESSION} WHERE chain_id = $1 ORDER BY attempt`, [chainId])).rows
}

export interface KernelRow {
  id: string
  status: KernelStatus
  agent: string | null
  assignment: number
  held: boolean
  gone: boolean
  started: boolean
  exitCode: number | null
  error: string | null
}

/** main1, sub1, sub2, … */
export async function kernelRows(db: Queryable, sessionId: string): Promise<KernelRow[]> {
  const statement = `SELECT id, status, agent_id AS agent, assignment, slots_held AS held, confirmed_gone AS gone,
    started_at IS NOT NULL AS started, exit_code AS "exitCode", error ->> 'name' AS error
    FROM kernels WHERE session_id = $1 ORDER BY role, index`
  return (await db.query<KernelRow>(statement, [sessionId])).rows
}

export interface DecisionRow {
  phase: RetryPhase
  cause: FailureCause | null
  holdReason: HoldReason | null
  child: string | null
  explanation: string
}

export async function decisionRow(db: Queryable, sessionId: string): Promise<DecisionRow | undefined> {
  const statement = `SELECT phase, cause, hold_reason AS "holdReason", child_session_id AS child, explanation
    FROM retry_decisions WHERE session_id = $1`
  return (await db.query<DecisionRow>(statement, [sessionId])).rows[0]
}

/** `<phase> <from>→<to> <result> ×<attempts>`, oldest first. */
export async function history(db: Queryable, entityId: string): Promise<string[]> {
  const statement = `SELECT phase || ' ' || coalesce(from_status, '') || '→' || coalesce(to_status, '') || ' ' || result
    || ' ×' || attempts AS line FROM scheduling_history WHERE entity_id = $1 ORDER BY id`
  return (await db.query<{ line: string }>(statement, [entityId])).rows.map(({ line }) => line)
}

/** `<type> <from>→<to>`, oldest first. */
export async function events(db: Queryable, sessionId: string): Promise<string[]> {
  const statement = `SELECT type || coalesce(' ' || coalesce(data ->> 'from', '') || '→' || (data ->> 'to'), '') AS line
    FROM session_events WHERE session_id = $1 AND type LIKE 'session.%' ORDER BY id`
  return (await db.query<{ line: string }>(statement, [sessionId])).rows.map(({ line }) => line)
}

/** `failed 0 after 3`: the ends of a chain's epochs, and their beginnings. */
export async function chainEvents(db: Queryable, chainId: string): Promise<string[]> {
  const statement = `SELECT substr(type, 7) || ' ' || (data ->> 'epoch') || ' after ' || (data ->> 'attempts') AS line
    FROM session_events WHERE chain_id = $1 AND type LIKE 'chain.%' ORDER BY id`
  return (await db.query<{ line: string }>(statement, [chainId])).rows.map(({ line }) => line)
}

/** Agents whose booked slots differ from the sum over the kernels that hold slots there. Must always be empty. */
export async function misbookedSlots(db: Queryable): Promise<object[]> {
  const statement = `SELECT a.agent_id, a.slot, a.used, coalesce(sum((k.resource_slots ->> a.slot)::numeric), 0) AS held
    FROM agent_slots a LEFT JOIN kernels k ON k.agent_id = a.agent_id AND k.slots_held
    GROUP BY a.agent_id, a.slot HAVING a.used <> coalesce(sum((k.resource_slots ->> a.slot)::numeric), 0)
      OR a.used > a.capacity`
  return (await db.query(statement)).rows
}

/** `RUNNING: RUNNING TERMINATED`: the session, then its kernels. */
export async function statuses(db: Queryable, sessionId: string): Promise<string> {
  const kernels = await kernelRows(db, sessionId)
  return `${(await sessionRow(db, sessionId)).status}: ${kernels.map(({ status }) => status).join(' ')}`
}
