import type { Queryable } from '../../database.ts'

const SQL = `
SELECT id, chain_id AS "chainId" FROM sessions WHERE id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR project_id = $2)`

/** Chain id by session id, for the sessions that the viewer may see. */
export async function readChainIds(
  db: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, string>> {
  if (sessionIds.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; chainId: string }>(SQL, [sessionIds, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row.chainId]))
}
