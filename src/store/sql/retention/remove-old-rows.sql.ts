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
  AND (o.at < reprise_now() - make_interval(secs => $1::float8) OR o.id <= (SELECT max(id) FROM ${table}) - $2::int8)`
  return (await db.query(sql, [ageSeconds, count, limit])).rowCount ?? 0
}

/**
 * Deletes the oldest events, in cursor order, that are too old or too many and that webhooks have already seen. The
 * last deleted position is recorded with it, so that an older cursor is recognised as expired.
 * Index: session_events(xid, id). One server at a time: the record is locked first.
 */
const REMOVE_OLD_EVENTS_SQL = `
WITH note AS (
  SELECT key FROM settings WHERE key = 'events.removed-through' FOR UPDATE SKIP LOCKED
), oldest AS (
  SELECT e.xid, e.id, e.occurred_at FROM session_events e, note ORDER BY e.xid, e.id LIMIT $3
), old AS (
  SELECT xid, id FROM oldest
  WHERE (occurred_at < reprise_now() - make_interval(secs => $1::float8)
      OR id <= (SELECT max(id) FROM session_events) - $2::int8)
    AND (NOT EXISTS (SELECT FROM webhooks)
      OR (xid, id) <= (SELECT (value ->> 'xid')::xid8, (value ->> 'id')::int8 FROM settings WHERE key = 'webhooks.cursor'))
), gone AS (
  DELETE FROM session_events e USING old WHERE e.id = old.id RETURNING e.xid, e.id
), last AS (
  SELECT xid, id FROM gone ORDER BY xid DESC, id DESC LIMIT 1
), noted AS (
  UPDATE settings SET updated_at = reprise_now(), value = jsonb_build_object('xid', last.xid::text, 'id', last.id::text)
  FROM last WHERE key = 'events.removed-through'
)
SELECT count(*)::int AS count FROM gone`

export async function removeOldEvents(db: Queryable, { ageSeconds, count }: Retention, limit: number): Promise<number> {
  return (await db.query<{ count: number }>(REMOVE_OLD_EVENTS_SQL, [ageSeconds, count, limit])).rows[0]!.count
}
