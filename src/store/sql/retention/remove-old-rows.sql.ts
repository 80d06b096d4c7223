import type { Retention } from '../../../domain/retention.ts'
import type { Queryable } from '../../database.ts'

/**
 * Tables whose serial ids follow time: the oldest rows are the first of the primary key. The bound by count goes by
 * ids, although sequences leave a few out.
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
