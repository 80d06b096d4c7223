import type { Queryable } from '../../database.ts'

/**
 * Deletes deliveries that are too old, with their attempts, oldest first. Indexes: webhook_deliveries(webhook_id,
 * created_at, id), primary key.
 */
const SQL = `
WITH old AS (
  SELECT d.id FROM webhooks w, LATERAL (
    SELECT id FROM webhook_deliveries
    WHERE webhook_id = w.id AND created_at < reprise_now() - make_interval(secs => $1)
    ORDER BY created_at, id LIMIT $2) AS d
  LIMIT $2
), held AS (
  SELECT id FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM old)) ORDER BY id FOR UPDATE SKIP LOCKED
)
DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM held))`

/**
 * Returns how many were deleted. Pending deliveries of a webhook that has been disabled for that long are deleted, too.
 */
export async function expireWebhookDeliveries(db: Queryable, olderThanSeconds: number, limit: number): Promise<number> {
  return (await db.query(SQL, [olderThanSeconds, limit])).rowCount ?? 0
}
