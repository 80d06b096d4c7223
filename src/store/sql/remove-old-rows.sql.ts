import type { Retention } from '../../domain/retention.ts'
import type { Queryable } from '../database.ts'

/**
 * Tables whose rows come in the order of their serial ids and of time: the oldest are the first of the primary
 * key. `too many` counts by the ids, of which sequences leave a few out.
 */
const TABLES = {
  logs: 'kernel_logs',
  audit: 'audit_log',
} as const

type AgingRows = keyof typeof TABLES

export async function removeOldRows(
  db: Queryable,
  rows: AgingRows,
  { ageSeconds, count }: Retention,
  limit: number,
): Promise<number> {
  const table = TABLES[rows]
  const sql = `
WITH oldest AS (SELECT id, at FROM ${table} ORDER BY id LIMIT $3)
DELETE FROM ${table} t USING oldest o WHERE t.id = o.id
  AND (o.at < now() - make_interval(secs => $1::float8) OR o.id <= (SELECT max(id) FROM ${table}) - $2::int8)`
  return (await db.query(sql, [ageSeconds, count, limit])).rowCount ?? 0
}

/** Of agents alone: what sessions and kernels went through goes with their chains. Index: scheduling_history_agents. */
const HISTORY_SQL = `
WITH oldest AS (
  SELECT entity_id, id, last_at FROM scheduling_history WHERE entity = 'AGENT' ORDER BY id LIMIT $3
)
DELETE FROM scheduling_history h USING oldest o WHERE h.entity_id = o.entity_id AND h.id = o.id
  AND (o.last_at < now() - make_interval(secs => $1::float8)
    OR o.id <= (SELECT id FROM scheduling_history WHERE entity = 'AGENT' ORDER BY id DESC OFFSET $2::int8
      LIMIT CASE WHEN $2::int8 IS NULL THEN 0 ELSE 1 END))`

export async function removeOldAgentHistory(
  db: Queryable,
  { ageSeconds, count }: Retention,
  limit: number,
): Promise<number> {
  return (await db.query(HISTORY_SQL, [ageSeconds, count, limit])).rowCount ?? 0
}
