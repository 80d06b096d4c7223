import type { Queryable } from '../../database.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'

type AgentStatus = 'ALIVE' | 'SUSPECT' | 'LOST' | 'DRAINING' | 'TERMINATED'

/** The agent's state before the change. */
export interface AgentChange {
  status: AgentStatus
  /** Kernels that hold its slots, or may still be running on it because its fence has not passed. */
  kernels: number
  changed: boolean
}

/**
 * A person drains, resumes or removes an agent: changes the agent and writes history and audit entry. Index:
 * kernels_on_agent.
 */
function statementFor(change: { sets: string; where: string; phase: string; action: string }): string {
  return `
WITH found AS (
  SELECT a.id, a.name, a.status,
    (SELECT count(*) FROM kernels k WHERE k.agent_id = a.id AND (k.slots_held OR NOT k.confirmed_gone
      AND a.last_heard_at > reprise_now() - make_interval(secs => (a.fence_after_ms + $4::float8) / 1000))) AS kernels
  FROM agents a WHERE a.id = $1 FOR UPDATE
), changed AS (
  UPDATE agents a SET ${change.sets} FROM found f WHERE a.id = f.id AND (${change.where})
  RETURNING a.id, a.name, f.status AS "from", a.status AS "to"
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'AGENT', id, '${change.phase}', "from"::text, "to"::text, 'SUCCESS', coalesce($2 || ' (' || $3 || ')', 'by ' || $3)
  FROM changed
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, details)
  SELECT ${actorValues('$5')}, '${change.action}', jsonb_build_object('agentId', id, 'name', name, 'from', "from", 'to', "to", 'reason', $2::text)
  FROM changed
)
SELECT status, kernels, EXISTS (SELECT FROM changed) AS changed FROM found`
}

const DRAIN_SQL = statementFor({
  sets: `drained_at = coalesce(a.drained_at, reprise_now()), drain_reason = $2,
    status = CASE WHEN a.status = 'LOST' THEN a.status ELSE 'DRAINING' END`,
  where: `f.status <> 'TERMINATED' AND (a.drained_at IS NULL OR a.drain_reason IS DISTINCT FROM $2)`,
  phase: 'drain-agent',
  action: 'agent.drain',
})

const RESUME_SQL = statementFor({
  sets: `drained_at = NULL, drain_reason = NULL, status = CASE WHEN a.status = 'DRAINING' THEN 'ALIVE' ELSE a.status END`,
  where: `f.status <> 'TERMINATED' AND a.drained_at IS NOT NULL`,
  phase: 'resume-agent',
  action: 'agent.resume',
})

const REMOVE_SQL = statementFor({
  sets: `drained_at = NULL, drain_reason = NULL, status = 'TERMINATED'`,
  where: `f.status IN ('LOST', 'DRAINING') AND f.kernels = 0`,
  phase: 'remove-agent',
  action: 'agent.remove',
})

interface AgentChangeRequest {
  agentId: string
  reason: string | null
  actor: Actor
  fenceMarginMs: number
}

/** Undefined if there is no such agent. */
export const drainAgentRow = (db: Queryable, request: AgentChangeRequest) => run(db, DRAIN_SQL, request)
export const resumeAgentRow = (db: Queryable, request: AgentChangeRequest) => run(db, RESUME_SQL, request)
export const removeAgentRow = (db: Queryable, request: AgentChangeRequest) => run(db, REMOVE_SQL, request)

async function run(db: Queryable, statement: string, request: AgentChangeRequest): Promise<AgentChange | undefined> {
  const values = [
    request.agentId,
    request.reason,
    request.actor.name,
    request.fenceMarginMs,
    JSON.stringify(request.actor),
  ]
  return (await db.query<AgentChange>(statement, values)).rows[0]
}
