import type { Queryable } from '../../database.ts'

/** A session that waits in a group, with its place in the order in which FIFO takes them. */
export interface GroupPendingRow {
  resourceGroup: string
  id: string
  priority: number
  createdAt: Date
}

const WAITING = `s.resource_group = wanted.name AND s.status = 'PENDING' AND ($2::uuid IS NULL OR s.project_id = $2)`
/** The first comparison bounds the scan of the index, which the second alone would not. */
const AFTER = `($3::smallint IS NULL OR s.priority <= $3
    AND (s.priority < $3 OR (s.created_at, s.id) > ($4::timestamptz, $5::uuid)))`
const ORDER = 'priority DESC, created_at, id'
const part = (which: string) => `(SELECT s.id, s.priority, s.created_at FROM sessions s
    WHERE ${WAITING} AND s.next_try_at IS ${which} AND ${AFTER} ORDER BY ${ORDER} LIMIT $6)`

/**
 * Those that may be scheduled are read in the order of their index, and merged with the few that rest.
 * Indexes: sessions_pending, sessions_resting.
 */
const PAGE_SQL = `
SELECT wanted.name AS "resourceGroup", page.id, page.priority, page.created_at AS "createdAt"
FROM unnest($1::text[]) AS wanted(name), LATERAL (
  SELECT * FROM (${part('NULL')} UNION ALL ${part('NOT NULL')}) AS waiting ORDER BY ${ORDER} LIMIT $6) AS page
ORDER BY page.priority DESC, page.created_at, page.id`

export type PendingPlace = Pick<GroupPendingRow, 'priority' | 'createdAt' | 'id'>

/** A page of each group. */
export async function readGroupPending(
  db: Queryable,
  page: {
    groups: readonly string[]
    visibleProjectId: string | null
    after: PendingPlace | null
    limit: number
  },
): Promise<GroupPendingRow[]> {
  const { groups, visibleProjectId, after, limit } = page
  const values = [groups, visibleProjectId, after?.priority, after?.createdAt.toISOString(), after?.id, limit]
  return (await db.query<GroupPendingRow>(PAGE_SQL, values)).rows
}

const COUNT_SQL = `
SELECT wanted.name AS id, (SELECT count(*) FROM (SELECT FROM sessions s WHERE ${WAITING} LIMIT $3) AS waiting) AS count
FROM unnest($1::text[]) AS wanted(name)`

/** Up to `countMax` of each group. */
export async function countGroupPending(
  db: Queryable,
  groups: readonly string[],
  visibleProjectId: string | null,
  countMax: number,
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [groups, visibleProjectId, countMax])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
