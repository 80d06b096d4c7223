import type { Queryable } from '../../database.ts'

const SQL = `SELECT fence_after_ms AS "fenceAfterMs" FROM resource_groups WHERE name = $1 AND deleted_at IS NULL`

/** In milliseconds; undefined if there is no such group. */
export async function readGroupFence(db: Queryable, resourceGroup: string): Promise<number | undefined> {
  return (await db.query<{ fenceAfterMs: number }>(SQL, [resourceGroup])).rows[0]?.fenceAfterMs
}
