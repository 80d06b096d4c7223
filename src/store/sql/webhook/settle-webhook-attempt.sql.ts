import type { Queryable } from '../../database.ts'

/** A finished attempt and its consequences. */
export interface SettledAttempt {
  deliveryId: string
  number: number
  startedAt: Date
  durationMs: number
  statusCode: number | null
  error: string | null
  response: string | null
  verdict: 'delivered' | 'again' | 'exhausted' | 'gone'
  /** Time until the next attempt; 0 if there is none. */
  inMs: number
  /** How long the endpoint is left alone; 0 for not at all. */
  restMs: number
}

/**
 * Records an attempt, its delivery's new state, and the state of its webhook. A webhook is disabled when its endpoint
 * is gone, and when a delivery has used up its schedule of three days with nothing delivered meanwhile. A success
 * updates the webhook's row at most once a minute: concurrent attempts would wait for each other there.
 * Nothing happens if somebody else has claimed the delivery since, or if it was deleted.
 * Locks: the webhook FOR KEY SHARE, so that it is not deleted; the delivery; the webhook again, to change it. Deletion
 * and replay lock in the same order.
 */
const SQL = `
WITH there AS MATERIALIZED (
  SELECT w.id FROM webhooks w WHERE w.id = (SELECT webhook_id FROM webhook_deliveries WHERE id = $1) FOR KEY SHARE
), settled AS (
  UPDATE webhook_deliveries d SET
    under_way = false,
    status = CASE $8 WHEN 'delivered' THEN 'DELIVERED' WHEN 'again' THEN 'PENDING' ELSE 'FAILED' END::webhook_delivery_status,
    failures = d.failures + ($8 <> 'delivered')::int,
    failing_since = CASE WHEN $8 <> 'delivered' THEN coalesce(d.failing_since, reprise_now()) END,
    next_attempt_at = reprise_now() + make_interval(secs => $9::int8 / 1000.0),
    finished_at = CASE WHEN $8 <> 'again' THEN reprise_now() END
  FROM there WHERE d.webhook_id = there.id AND d.id = $1 AND d.attempts = $2::int AND d.under_way
  RETURNING d.id, d.webhook_id, d.event_id, d.attempts, d.failing_since
), kept AS (
  INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status_code, error, response)
  SELECT id, $2::int, $3::timestamptz, $4::int, $5::int, $6::text, $7::text FROM settled
), forgotten AS (
  DELETE FROM webhook_attempts a USING settled WHERE a.delivery_id = settled.id AND a.number <= settled.attempts - $11::int
), hook AS MATERIALIZED (
  SELECT w.id, CASE
    WHEN NOT w.enabled THEN NULL
    WHEN $8 = 'gone' THEN 'the endpoint answered 410 Gone'
    WHEN $8 = 'exhausted' AND settled.event_id IS NOT NULL AND w.failing_since <= settled.failing_since
      THEN 'all attempts since ' || to_char(w.failing_since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC failed'
    END AS ends
  FROM webhooks w JOIN settled ON settled.webhook_id = w.id
  WHERE $8 <> 'delivered' OR w.failing_since IS NOT NULL OR w.resting_until IS NOT NULL
    OR w.last_delivered_at IS NULL OR w.last_delivered_at < reprise_now() - interval '1 minute'
  FOR NO KEY UPDATE OF w
), updated AS (
  UPDATE webhooks w SET
    failing_since = CASE WHEN $8 <> 'delivered' THEN coalesce(w.failing_since, reprise_now()) END,
    last_delivered_at = CASE WHEN $8 = 'delivered' THEN reprise_now() ELSE w.last_delivered_at END,
    resting_until = CASE WHEN $10::int8 > 0 THEN greatest(w.resting_until, reprise_now() + make_interval(secs => $10::int8 / 1000.0))
      WHEN $8 = 'delivered' THEN NULL ELSE w.resting_until END,
    enabled = w.enabled AND hook.ends IS NULL,
    disabled_reason = coalesce(hook.ends, w.disabled_reason),
    disabled_at = CASE WHEN hook.ends IS NOT NULL THEN reprise_now() ELSE w.disabled_at END
  FROM hook WHERE w.id = hook.id
  RETURNING w.id, w.project_id, w.url, hook.ends
), audit AS (
  INSERT INTO audit_log (actor, action, project_id, details)
  SELECT 'scheduler', 'webhook.disable', project_id, jsonb_build_object('webhookId', id, 'reason', ends)
  FROM updated WHERE ends IS NOT NULL
)
SELECT (SELECT ends FROM updated) AS "disabledReason" FROM settled`

/** Undefined if the attempt was no longer ours to record. */
export async function settleWebhookAttempt(
  db: Queryable,
  attempt: SettledAttempt,
  attemptsKept: number,
): Promise<{ disabledReason: string | null } | undefined> {
  const { deliveryId, number, startedAt, durationMs, statusCode, error, response, verdict, inMs, restMs } = attempt
  const values = [deliveryId, number, startedAt, durationMs, statusCode, error, response, verdict, inMs, restMs]
  return (await db.query<{ disabledReason: string | null }>(SQL, [...values, attemptsKept])).rows[0]
}

const RELEASE_SQL = `
UPDATE webhook_deliveries SET under_way = false, next_attempt_at = reprise_now() WHERE id = $1 AND attempts = $2 AND under_way`

/** Undoes the claim of an attempt that was cut off. */
export async function releaseWebhookDelivery(db: Queryable, deliveryId: string, number: number): Promise<void> {
  await db.query(RELEASE_SQL, [deliveryId, number])
}
