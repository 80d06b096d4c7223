import type { Queryable } from '../../database.ts'

/** One kernel or session on an agent. */
export interface AgentWorkRow {
  agentId: string
  id: string
}

/** What an agent still has: it holds resources for it, or it is not known to be gone. Index: kernels_on_agent. */
const PRESENT = `k.agent_id = wanted.id AND (k.slots_held OR NOT k.confirmed_gone)
    AND ($2::uuid IS NULL OR s.project_id = $2)`
const KERNELS = `kernels k JOIN sessions s ON s.id = k.session_id WHERE ${PRESENT}`

/** Ids are in the order of time: newest first. */
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

export interface AgentWorkPage {
  agentIds: readonly string[]
  visibleProjectId: string | null
  /** Only what is older than this kernel or session; null for the first page. */
  before: string | null
  limit: number
}

/** A page of each agent, newest first. */
export async function readKernelsOnAgents(db: Queryable, page: AgentWorkPage): Promise<AgentWorkRow[]> {
  return (await db.query<AgentWorkRow>(KERNEL_PAGE_SQL, valuesOf(page))).rows
}

/** The same of the sessions of these kernels, each once. */
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

/** An agent of a group, with its place in the order of names. */
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

/** A page of each group, by name. */
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
