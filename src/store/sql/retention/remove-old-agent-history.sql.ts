import type { Retention } from '../../../domain/retention.ts'
import type { Queryable } from '../../database.ts'

/**
 * Deletes old history of agents only: that of sessions and kernels goes with their chains. Index:
 * scheduling_history_agents.
 */
const SQL = `
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
  return (await db.query(SQL, [ageSeconds, count, limit])).rowCount ?? 0
}
