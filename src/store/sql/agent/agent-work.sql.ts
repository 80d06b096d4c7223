import { AGENTS_NAMED_MAX } from '../../../domain/limits.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { FailureCause } from '../../../domain/session/failure.ts'
import type { ClusterMember, ExecutorOptions, SealedVariable } from '../../../domain/session/kernel-environment.ts'
import type { ClusterMode, SessionType } from '../../../domain/session/lifecycle.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { STOP_GRACE_MS } from '../session/claim-sessions.sql.ts'

/** The fields of a kernel's specification that are not read for orders. */
type NotRead = 'checkpoint' | 'executorOptions' | 'stopGraceMs'

/** The data from which orders to agents are built. */
export interface OrderSource extends Omit<KernelSpec, NotRead> {
  secretEnviron: SealedVariable[]
  sessionType: SessionType
  groupExecutorOptions: ExecutorOptions
  allowedExecutorOptions: string[]
  sessionExecutorOptions: ExecutorOptions
  retryCount: number
  maxRetries: number
  parentSessionId: string | null
  retryCause: FailureCause | null
  stopGraceMs: number
  /** Null if its chain is in no group. */
  groupIndex: number | null
  groupSize: number | null
  lastProgress: string | null
  clusterMode: ClusterMode
  /** All kernels of the session with their addresses: main1, sub1, sub2, … */
  members: ClusterMember[]
  /** The generation of earlier attempts' checkpoint; null if none is on record. */
  checkpointGeneration: number | null
  checkpointAttempt: number | null
  /** Null if the checkpoint was dropped. */
  checkpointStore: string | null
  /** Whether the servers have a copy of the checkpoint. */
  checkpointRelayed: boolean | null
}

/** A `ClusterMember` from a kernel and its agent. */
const member = (kernel: string, agent: string) =>
  `json_build_object('role', ${kernel}.role, 'index', ${kernel}.index, 'address', coalesce(${agent}.address, ''))`

const SQL = keepsPlan(`
SELECT k.id AS "kernelId", s.id AS "sessionId", s.project_id AS "projectId", s.chain_id AS "chainId", s.attempt, k.role, k.index, s.image, coalesce(s.image_digest, s.required_image_digest) AS "imageDigest",
  s.command, s.code_sha256 AS "codeSha256", s.mounts, s.outputs -> 'paths' AS "outputPaths", s.outputs -> 'inPlace' = 'true' AS "outputsInPlace", s.inputs <> '[]' AS "hasInputs", s.environ, s.secret_environ AS "secretEnviron", k.resource_slots AS "resourceSlots", s.gpu_need AS "gpuNeed", s.port_variable AS "portVariable", s.retry_count AS "retryCount",
  s.max_retries AS "maxRetries", s.parent_session_id AS "parentSessionId", s.retry_cause AS "retryCause",
  s.cluster_mode AS "clusterMode", s.session_type AS "sessionType",
  g.executor_options AS "groupExecutorOptions", g.allowed_executor_options AS "allowedExecutorOptions",
  s.executor_options AS "sessionExecutorOptions", s.name AS "sessionName", s.group_index AS "groupIndex",
  (SELECT n.total FROM session_groups n WHERE n.id = s.group_id) AS "groupSize", p.name AS "projectName", s.priority,
  ceil(s.batch_timeout * 1000) AS "batchTimeoutMs", ceil(s.gpu_idle_timeout * 1000) AS "gpuIdleTimeoutMs",
  ceil((s.retry_policy ->> 'progressTimeout')::float8 * 1000) AS "progressTimeoutMs", s.on_hang AS "onHang", s.never_run_twice AS "neverRunTwice",
  CASE WHEN s.parent_session_id IS NOT NULL THEN (
    SELECT e.progress FROM kernels e WHERE e.session_id = s.parent_session_id AND e.progress IS NOT NULL
    ORDER BY e.role, e.index LIMIT 1) END AS "lastProgress",
  CASE WHEN s.cluster_size = 1 THEN json_build_array(${member('k', 'h')}) ELSE (
    SELECT json_agg(${member('m', 'a')} ORDER BY m.role, m.index)
    FROM kernels m LEFT JOIN agents a ON a.id = m.agent_id WHERE m.session_id = s.id) END AS members,
  CASE WHEN s.cluster_size > 1 THEN (
    SELECT json_build_object('size', count(*), 'singleNode', s.cluster_mode = 'SINGLE_NODE')
    FROM kernels m WHERE m.session_id = s.id AND m.agent_id = k.agent_id HAVING count(*) > 1) END AS gang,
  CASE WHEN k.agent_id = ANY(s.avoid_agents) THEN (
    SELECT json_agg(failed.host ORDER BY failed.attempt) FROM (
      SELECT f.host, max(e.attempt) AS attempt
      FROM sessions e JOIN retry_decisions d ON d.session_id = e.id JOIN kernels f ON f.session_id = e.id
      WHERE e.chain_id = s.chain_id AND e.attempt < s.attempt AND d.details -> 'avoid' -> 'agents' ? k.agent_id::text
        AND f.agent_id = k.agent_id AND f.host IS NOT NULL AND NOT f.stopped AND (f.status = 'ERROR' OR f.exit_code <> 0)
      GROUP BY f.host ORDER BY attempt DESC LIMIT ${AGENTS_NAMED_MAX}) AS failed) END AS "avoidHosts",
  CASE WHEN s.terminate_force OR k.terminated_at IS NOT NULL THEN 0 ELSE (${STOP_GRACE_MS}) END AS "stopGraceMs",
  c.generation AS "checkpointGeneration",
  CASE WHEN (c.files > 0 OR c.files IS NULL) AND (c.attempt < s.attempt OR c.attempt = s.attempt AND c.assignment < k.assignment) THEN c.attempt END AS "checkpointAttempt",
  CASE WHEN c.dropped_at IS NULL THEN c.store END AS "checkpointStore",
  c.relay_attempt = c.attempt AS "checkpointRelayed"
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN resource_groups g ON g.name = s.resource_group
JOIN projects p ON p.id = s.project_id LEFT JOIN agents h ON h.id = k.agent_id
LEFT JOIN checkpoints c ON c.chain_id = s.chain_id AND (s.attempt > 1 OR k.assignment > 1)
WHERE k.id IN (SELECT given.id::uuid FROM json_array_elements_text($1::json) AS given(id))`)

export async function readOrderSources(db: Queryable, kernelIds: string[]): Promise<Map<string, OrderSource>> {
  if (kernelIds.length === 0) return new Map()
  const { rows } = await db.query<OrderSource>(SQL, [JSON.stringify(kernelIds)])
  return new Map(rows.map((row) => [row.kernelId, row]))
}

/** One kernel or session on an agent. */
export interface AgentWorkRow {
  agentId: string
  id: string
}

/**
 * Condition of a kernel that an agent still has: it holds resources for it, or it is not known to be gone. Index:
 * kernels_on_agent.
 */
const PRESENT = `k.agent_id = wanted.id AND (k.slots_held OR NOT k.confirmed_gone)
    AND ($2::uuid IS NULL OR s.project_id = $2)`
const KERNELS = `kernels k JOIN sessions s ON s.id = k.session_id WHERE ${PRESENT}`

/** Ids are in the order of time, so the newest come first. */
const KERNEL_PAGE_SQL = `
SELECT page.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT wanted.id AS "agentId", k.id FROM ${KERNELS} AND ($3::uuid IS NULL OR k.id < $3)
  ORDER BY k.id DESC LIMIT $4) AS page`

const SESSION_PAGE_SQL = `
SELECT page.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT DISTINCT wanted.id AS "agentId", s.id FROM ${KERNELS} AND ($3::uuid IS NULL OR s.id < $3)
  ORDER BY s.id DESC LIMIT $4) AS page`

const COUNT_SQL = `
SELECT wanted.id, found.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT count(*) AS kernels, count(DISTINCT k.session_id) AS sessions FROM ${KERNELS}) AS found`

interface AgentWorkPage {
  agentIds: readonly string[]
  visibleProjectId: string | null
  /** Only kernels or sessions older than this one; null for the first page. */
  before: string | null
  limit: number
}

/** Reads a page for each agent, newest first. */
export async function readKernelsOnAgents(db: Queryable, page: AgentWorkPage): Promise<AgentWorkRow[]> {
  return (await db.query<AgentWorkRow>(KERNEL_PAGE_SQL, valuesOf(page))).rows
}

/** Reads a page of the sessions of these kernels for each agent, each session once. */
export async function readSessionsOnAgents(db: Queryable, page: AgentWorkPage): Promise<AgentWorkRow[]> {
  return (await db.query<AgentWorkRow>(SESSION_PAGE_SQL, valuesOf(page))).rows
}

export async function countWorkOnAgents(
  db: Queryable,
  agentIds: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, { kernels: number; sessions: number }>> {
  const { rows } = await db.query<{ id: string; kernels: number; sessions: number }>(COUNT_SQL, [
    agentIds,
    visibleProjectId,
  ])
  return new Map(rows.map(({ id, ...counts }) => [id, counts]))
}

function valuesOf({ agentIds, visibleProjectId, before, limit }: AgentWorkPage): unknown[] {
  return [agentIds, visibleProjectId, before, limit]
}

/** An agent of a group, with its position in the order of names. */
export interface GroupAgentRow {
  resourceGroup: string
  id: string
  name: string
}

/** There are a few thousand agents at most. */
const GROUP_AGENT_PAGE_SQL = `
SELECT page.* FROM unnest($1::text[]) AS wanted(name), LATERAL (
  SELECT a.resource_group AS "resourceGroup", a.id, a.name FROM agents a
  WHERE a.resource_group = wanted.name AND ($2::text IS NULL OR (a.name, a.id) > ($2, $3::uuid))
  ORDER BY a.name, a.id LIMIT $4) AS page`

/** Reads a page for each group, sorted by name. */
export async function readGroupAgents(
  db: Queryable,
  groups: readonly string[],
  after: { name: string; id: string } | null,
  limit: number,
): Promise<GroupAgentRow[]> {
  return (await db.query<GroupAgentRow>(GROUP_AGENT_PAGE_SQL, [groups, after?.name, after?.id, limit])).rows
}

const COUNT_GROUP_AGENTS_SQL = `
SELECT resource_group AS id, count(*) AS count FROM agents WHERE resource_group = ANY($1::text[]) GROUP BY resource_group`

export async function countGroupAgents(db: Queryable, groups: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_GROUP_AGENTS_SQL, [groups])
  return new Map(rows.map(({ id, count }) => [id, count]))
}

const READ_KERNEL_STATE = `
SELECT k.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AS over, s.project_id AS "projectId"
FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE k.id = $1`

export async function readKernelState(
  db: Queryable,
  kernelId: string,
): Promise<{ over: boolean; projectId: string } | undefined> {
  return (await db.query<{ over: boolean; projectId: string }>(READ_KERNEL_STATE, [kernelId])).rows[0]
}
