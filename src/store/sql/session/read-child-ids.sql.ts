import type { Queryable } from '../../database.ts'

const SQL = `
SELECT parent_session_id AS "parentId", id FROM sessions WHERE parent_session_id = ANY($1::uuid[])`

/** Child id by parent id. */
export async function readChildIds(tx: Queryable, parentIds: readonly string[]): Promise<Map<string, string>> {
  if (parentIds.length === 0) return new Map()
  const { rows } = await tx.query<{ parentId: string; id: string }>(SQL, [parentIds])
  return new Map(rows.map(({ parentId, id }) => [parentId, id]))
}
