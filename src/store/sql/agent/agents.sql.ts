import type { Lease } from '../../../domain/agent/lease.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { LOST_KERNEL_COLUMNS } from '../session/end-sessions.sql.ts'
import type { GroupAgent } from '../../../domain/retry/child.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'
import { VOLUMES_LISTED_MAX } from '../../../domain/limits.ts'
import type { OfferedVolume } from '../../../domain/scheduling/resource-request.ts'

/**
 * Moves silent agents ALIVE → SUSPECT → LOST by the database's clock, as long as a server is running that could hear
 * them. Kernels that ran on a lost agent have failed. Kernels that had not started get the error `agent-lost` but keep
 * their status: the handler of their session's status fails the session or places it again. `confirmed_gone` stays
 * false, because their processes may still be running. Index: kernels_on_agent. Locks: agents, then kernels in id
 * order.
 */
const SQL = keepsPlan(`
WITH silent AS (
  SELECT id, status AS "from", CASE WHEN silence > make_interval(secs => $2 / 1000.0) THEN 'LOST'::agent_status
    ELSE 'SUSPECT' END AS "to", round(extract(epoch FROM silence)) AS seconds
  FROM agents, LATERAL (SELECT reprise_now() - greatest(last_heard_at, lease_from) AS silence) AS s
  WHERE status IN ('ALIVE', 'SUSPECT', 'DRAINING') AND silence > make_interval(secs => $1 / 1000.0)
    AND (embedded OR EXISTS (SELECT FROM servers
      WHERE 'api' = ANY(roles) AND last_seen_at > reprise_now() - make_interval(secs => $3 / 1000.0)))
  FOR UPDATE OF agents SKIP LOCKED
), changed AS (
  UPDATE agents a SET status = silent."to" FROM silent
  WHERE a.id = silent.id AND a.status <> silent."to" AND NOT (a.status = 'DRAINING' AND silent."to" = 'SUSPECT')
  RETURNING a.id, a.name, silent."from", silent."to", silent.seconds
), locked AS (
  SELECT k.id, c.name, c.seconds FROM kernels k JOIN changed c ON c.id = k.agent_id AND c."to" = 'LOST'
  WHERE (k.slots_held OR NOT k.confirmed_gone) AND k.status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')
  ORDER BY k.id FOR NO KEY UPDATE OF k
), failed AS (
  UPDATE kernels k SET
    ${LOST_KERNEL_COLUMNS},
    error = coalesce(k.error, jsonb_build_object('name', 'agent-lost', 'agentId', k.agent_id,
      'message', 'agent ' || l.name || ' was silent for ' || l.seconds || ' s'))
  FROM locked l WHERE k.id = l.id
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'AGENT', id, 'watch-agents', "from"::text, "to"::text, 'EXPIRED', 'silent for ' || seconds || ' s' FROM changed
)
SELECT id, name, "to" AS status, seconds::int AS "silentSeconds" FROM changed`)

interface SilentAgent {
  id: string
  name: string
  status: 'SUSPECT' | 'LOST'
  silentSeconds: number
}

/** Returns the agents whose status changed. */
export async function updateSilentAgents(db: Queryable, lease: Lease): Promise<SilentAgent[]> {
  const values = [lease.suspectAfterMs, lease.lostAfterMs, lease.outageAfterMs]
  return (await db.query<SilentAgent>(SQL, values)).rows
}

const READ_AGENT_GROUPS_SQL = `SELECT id, resource_group AS "resourceGroup" FROM agents WHERE id = ANY($1::uuid[])`

/** Reads the resource group of each agent, by id; unknown agents are missing. */
export async function readAgentGroups(db: Queryable, agentIds: readonly string[]): Promise<Map<string, string>> {
  if (agentIds.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; resourceGroup: string }>(READ_AGENT_GROUPS_SQL, [agentIds])
  return new Map(rows.map(({ id, resourceGroup }) => [id, resourceGroup]))
}

const READ_ALIVE_AGENTS_SQL = `
SELECT a.id, a.resource_group AS "resourceGroup", a.labels,
  coalesce((SELECT jsonb_object_agg(s.slot, s.declared::text) FROM agent_slots s WHERE s.agent_id = a.id), '{}') AS capacity,
  a.slots_per_kernel_max AS "perKernel", a.volumes, a.gpus, a.gpu_sharing AS "gpuSharing"
FROM agents a JOIN resource_groups g ON g.name = a.resource_group
WHERE a.status = 'ALIVE' AND a.refuses IS NULL AND g.drained_at IS NULL AND 'BATCH' = ANY(g.allowed_session_types)`

/** Reads the alive agents of all groups that accept new batch sessions. */
export async function readAliveAgents(db: Queryable): Promise<GroupAgent[]> {
  return (await db.query<GroupAgent>(READ_ALIVE_AGENTS_SQL)).rows
}

type AgentStatus = 'ALIVE' | 'SUSPECT' | 'LOST' | 'DRAINING' | 'TERMINATED'

/** The agent's state before the change. */
export interface AgentChange {
  status: AgentStatus
  /** Kernels that hold its slots, or may still be running on it because its fence has not passed. */
  kernels: number
  changed: boolean
}

/**
 * Builds the statement with which a person drains, resumes or removes an agent: it changes the agent and writes history
 * and audit entry. Index: kernels_on_agent.
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

/** Returns undefined if there is no such agent. */
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

/**
 * Moves a GPU between the two lists of wishes: the agent follows them, and reports that when it registers. A wish ends
 * the opposite one, whether or not the agent has followed that already, and may be repeated.
 */
const gpuStatement = ({ sets, where, action }: { sets: string; where: string; action: string }) => `
WITH found AS (
  SELECT id, name, gpus FROM agents WHERE id = $1 AND status <> 'TERMINATED' FOR UPDATE
), changed AS (
  UPDATE agents a SET ${sets}
  FROM found f WHERE a.id = f.id AND EXISTS (SELECT FROM jsonb_array_elements(f.gpus) AS g WHERE g ->> 'uuid' = $2 AND (${where}))
  RETURNING a.id, a.name
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, details)
  SELECT ${actorValues('$4')}, '${action}', jsonb_build_object('agentId', id, 'name', name, 'uuid', $2::text, 'reason', $3::text)
  FROM changed
)
SELECT EXISTS (SELECT FROM changed) AS changed FROM found`

const RETURN_GPU_SQL = gpuStatement({
  sets: `gpu_returns = array_append(array_remove(a.gpu_returns, $2::text), $2::text), gpu_takes = nullif(a.gpu_takes - $2::text, '{}')`,
  where: `g ->> 'fault' IS NOT NULL OR a.gpu_takes ? $2`,
  action: 'agent.gpu_return',
})

/** $5 is the fault that the agent then reports. */
const TAKE_GPU_SQL = gpuStatement({
  sets: `gpu_returns = array_remove(a.gpu_returns, $2::text), gpu_takes = coalesce(a.gpu_takes, '{}') || jsonb_build_object($2::text, $5::text)`,
  where: `g ->> 'fault' IS NULL OR $2 = ANY(a.gpu_returns)`,
  action: 'agent.gpu_take',
})

interface GpuWish {
  agentId: string
  uuid: string
  reason: string | null
  actor: Actor
}

/** Returns undefined if there is no such agent, and false if it has no such GPU that is out of service. */
export async function returnGpuRow(db: Queryable, wish: GpuWish): Promise<boolean | undefined> {
  return (await db.query<{ changed: boolean }>(RETURN_GPU_SQL, valuesOf(wish))).rows[0]?.changed
}

/** Returns undefined if there is no such agent, and false if it has no such GPU that is in service. */
export async function takeGpuRow(db: Queryable, wish: GpuWish, fault: string): Promise<boolean | undefined> {
  return (await db.query<{ changed: boolean }>(TAKE_GPU_SQL, [...valuesOf(wish), fault])).rows[0]?.changed
}

function valuesOf({ agentId, uuid, reason, actor }: GpuWish): unknown[] {
  return [agentId, uuid, reason, JSON.stringify(actor)]
}

/** A volume, by the name under which agents offer it. */
export interface Volume {
  name: string
  readOnly: boolean
  resourceGroups: string[]
  /** Number of alive agents that offer it. */
  agents: number
}

/**
 * Agents name the projects that may use a volume. A project that is named nowhere sees only the volumes for all
 * projects.
 */
const READ_VOLUMES = `
SELECT v.name, bool_and(v."readOnly") AS "readOnly", array_agg(DISTINCT a.resource_group ORDER BY a.resource_group) AS "resourceGroups",
  (count(*) FILTER (WHERE a.status = 'ALIVE'))::int AS agents
FROM agents a CROSS JOIN LATERAL jsonb_to_recordset(a.volumes) AS v("name" text, "readOnly" bool, "projects" jsonb)
WHERE a.volumes IS NOT NULL AND a.status <> 'TERMINATED' AND ($1::uuid IS NULL OR nullif(v."projects", 'null') IS NULL
  OR v."projects" ? (SELECT p.name FROM projects p WHERE p.id = $1))
GROUP BY v.name ORDER BY v.name COLLATE "C" LIMIT ${VOLUMES_LISTED_MAX}`

/** @param projectId null for the volumes that all projects may use */
export async function readVolumeRows(db: Queryable, projectId: string | null): Promise<Volume[]> {
  return (await db.query<Volume>(READ_VOLUMES, [projectId])).rows
}

const GROUP_SQL = `
SELECT p.name AS project, ARRAY(SELECT jsonb_build_object('volumes', a.volumes) FROM agents a
  WHERE a.resource_group = $2 AND a.status <> 'TERMINATED' AND a.volumes IS NOT NULL) AS agents
FROM projects p WHERE p.id = $1`

/**
 * Reads the name of a project, and the volumes that each of a group's agents offers to all projects, whether or not the
 * agent is alive.
 */
export async function readGroupVolumes(
  db: Queryable,
  projectId: string,
  resourceGroup: string,
): Promise<{ project: string; agents: { volumes: OfferedVolume[] }[] }> {
  const values = [projectId, resourceGroup]
  return (await db.query<{ project: string; agents: { volumes: OfferedVolume[] }[] }>(GROUP_SQL, values)).rows[0]!
}
