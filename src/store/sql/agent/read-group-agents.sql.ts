import type { Queryable } from '../../database.ts'

/** An agent of a group, with its place in the order of names. */
export interface GroupAgentRow {
  resourceGroup: string
  id: string
  name: string
}

/** There are a few thousand agents at most. */
const PAGE_SQL = `
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
  return (await db.query<GroupAgentRow>(PAGE_SQL, [groups, after?.name, after?.id, limit])).rows
}

const COUNT_SQL = `
SELECT resource_group AS id, count(*) AS count FROM agents WHERE resource_group = ANY($1::text[]) GROUP BY resource_group`

export async function countGroupAgents(db: Queryable, groups: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [groups])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
