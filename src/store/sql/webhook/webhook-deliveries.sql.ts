import type { DeliveryFacts } from '../../../domain/webhook.ts'
import type { Database, Queryable } from '../../database.ts'

export interface ClaimedDelivery {
  id: string
  /** The number of the attempt. A server that claims the delivery after the lease gets a greater number. */
  attempt: number
  failures: number
  webhookId: string
  /** Null for a test event. */
  eventId: string | null
  eventType: string
  occurredAt: Date
  sessionId: string | null
  chainId: string | null
  facts: DeliveryFacts | null
  url: string
  secret: Buffer
  /** Whether both secrets are encrypted. */
  secretSealed: boolean
  /** The previous secret, while it is valid beside the new one. */
  previousSecret: Buffer | null
  /** Whether its webhook is failing. */
  failing: boolean
  /** The database's time. */
  now: Date
}

/** Limits on how many attempts may start, and at which endpoints. */
interface ClaimLimits {
  /** Free places of this server, and the number of them for failing endpoints. */
  total: number
  failing: number
  /** Limits over all servers: attempts at one endpoint, and at the endpoints of one project. */
  perEndpoint: number
  perProject: number
  /** The most concurrent attempts of one server, which projects share. */
  perServer: number
  /** Duration after which an attempt counts as slow. */
  promptMs: number
}

/** Serialises claims of all servers, so that each claim counts the previous ones. Held for some milliseconds. */
const LOCK_SQL = `SELECT pg_advisory_xact_lock(hashtext('reprise:claim-webhook-deliveries'))`

/**
 * Claims due deliveries, fairly: projects with few attempts in progress come first, then endpoints without any; within
 * a webhook in event order.
 *
 * - An endpoint that is failing, or has a slow attempt in progress, gets no second concurrent attempt.
 * - A project has at most its part of all attempts in progress, and failing endpoints at most half of that. Its
 *   endpoints get a second attempt only while half of its part is free, so that each can have its first.
 * - The lease is `next_attempt_at`: a delivery with no recorded result by then is due again. It also shows when the
 *   attempt began.
 *
 * Indexes: webhook_deliveries_queue, one probe for each webhook that has something pending;
 * webhook_deliveries_under_way_idx. The caller has taken the lock.
 */
const SQL = `
WITH RECURSIVE queued AS (
  (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'PENDING' ORDER BY d.webhook_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'PENDING' AND d.webhook_id > queued.webhook_id
    ORDER BY d.webhook_id LIMIT 1)
  FROM queued WHERE queued.webhook_id IS NOT NULL
), busy AS MATERIALIZED (
  SELECT w.id, w.project_id, w.failing_since IS NOT NULL AS failing, count(*)::int AS running,
    bool_or(d.next_attempt_at < reprise_now() + make_interval(secs => ($4::int8 - $7::int8) / 1000.0)) AS slow
  FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
  WHERE d.under_way AND d.next_attempt_at > reprise_now()
  GROUP BY w.id
), hooks AS MATERIALIZED (
  SELECT w.id, w.project_id, w.failing_since IS NOT NULL AS failing, coalesce(busy.running, 0) AS running,
    greatest(0, CASE WHEN w.failing_since IS NULL AND busy.slow IS NOT TRUE THEN $3 ELSE 1 END - coalesce(busy.running, 0)) AS free
  FROM queued JOIN webhooks w ON w.id = queued.webhook_id LEFT JOIN busy ON busy.id = w.id
  WHERE w.enabled AND (w.resting_until IS NULL OR w.resting_until <= reprise_now())
), projects AS MATERIALIZED (
  SELECT project_id, sum(running) AS running, sum(running) FILTER (WHERE failing) AS failing
  FROM (SELECT project_id, running, failing FROM busy UNION ALL SELECT project_id, 0, failing FROM hooks WHERE free > 0) AS each
  GROUP BY project_id
), share AS MATERIALIZED (
  SELECT greatest(1, least($5::int8, $6::int8 / (count(*) + 1))) AS most FROM projects
), heads AS MATERIALIZED (
  SELECT due.id, due.next_attempt_at, h.project_id, h.failing, h.running + due.place AS turn
  FROM hooks h, LATERAL (
    SELECT d.id, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at, d.event_id) AS place
    FROM webhook_deliveries d
    WHERE d.status = 'PENDING' AND d.webhook_id = h.id AND d.next_attempt_at <= reprise_now()
    ORDER BY d.next_attempt_at, d.event_id LIMIT h.free) AS due
), in_projects AS MATERIALIZED (
  SELECT h.id, h.next_attempt_at, h.failing, h.turn,
    coalesce(p.running, 0) + row_number() OVER (PARTITION BY h.project_id
      ORDER BY h.turn > 1, h.failing, h.turn, h.next_attempt_at) AS place,
    coalesce(p.failing, 0) + row_number() OVER (PARTITION BY h.project_id, h.failing
      ORDER BY h.turn, h.next_attempt_at) AS failing_place
  FROM heads h JOIN projects p ON p.project_id IS NOT DISTINCT FROM h.project_id
), allowed AS MATERIALIZED (
  SELECT i.id, i.failing, row_number() OVER (PARTITION BY i.failing ORDER BY i.place, i.turn, i.next_attempt_at) AS place
  FROM in_projects i, share
  WHERE i.place <= CASE WHEN i.turn = 1 THEN share.most ELSE share.most / 2 END
    AND (NOT i.failing OR i.failing_place <= ceil(share.most / 2.0))
), taken AS MATERIALIZED (
  SELECT d.id, a.failing FROM allowed a JOIN webhook_deliveries d ON d.id = a.id
  WHERE d.status = 'PENDING' AND d.next_attempt_at <= reprise_now() AND (NOT a.failing OR a.place <= $2)
  ORDER BY a.place, a.failing LIMIT $1
  FOR UPDATE OF d SKIP LOCKED
)
UPDATE webhook_deliveries d
SET attempts = d.attempts + 1, under_way = true, next_attempt_at = reprise_now() + make_interval(secs => $4::int8 / 1000.0)
FROM taken, webhooks w WHERE d.id = taken.id AND w.id = d.webhook_id
RETURNING d.id, d.attempts AS attempt, d.failures, d.webhook_id AS "webhookId", d.event_id::text AS "eventId",
  d.event_type AS "eventType", d.occurred_at AS "occurredAt", d.session_id AS "sessionId", d.chain_id AS "chainId",
  nullif(d.facts, 'null') AS facts, w.url, w.secret, w.secret_sealed AS "secretSealed",
  CASE WHEN w.previous_secret_expires_at > reprise_now() THEN w.previous_secret END AS "previousSecret", taken.failing, reprise_now() AS now`

export async function claimWebhookDeliveries(
  db: Database,
  { total, failing, perEndpoint, perProject, perServer, promptMs }: ClaimLimits,
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const values = [total, failing, perEndpoint, leaseMs, perProject, perServer, promptMs]
  const rows = await db.transaction(async (tx) => {
    await tx.query(LOCK_SQL)
    return (await tx.query<ClaimedDelivery>(SQL, values)).rows
  })
  return rows.toSorted((a, b) => Number(a.eventId) - Number(b.eventId))
}

/** A finished attempt and its consequences. */
interface SettledAttempt {
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
  /** Time for which the endpoint gets no attempt at all; 0 for none. */
  restMs: number
}

/**
 * Records an attempt, its delivery's new state, and the state of its webhook. A webhook is disabled when its endpoint
 * is gone, and when a delivery has used up its schedule of three days with nothing delivered meanwhile. A success
 * updates the webhook's row at most once a minute: concurrent attempts would wait for each other there. Nothing happens
 * if another server has claimed the delivery since, or if it was deleted. Locks: the webhook FOR KEY SHARE, so that it
 * is not deleted; the delivery; the webhook again, to change it. Deletion and replay lock in the same order.
 */
const SETTLE_WEBHOOK_ATTEMPT = `
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

/** Returns undefined if the attempt no longer belonged to this server. */
export async function settleWebhookAttempt(
  db: Queryable,
  attempt: SettledAttempt,
  attemptsKept: number,
): Promise<{ disabledReason: string | null } | undefined> {
  const { deliveryId, number, startedAt, durationMs, statusCode, error, response, verdict, inMs, restMs } = attempt
  const values = [deliveryId, number, startedAt, durationMs, statusCode, error, response, verdict, inMs, restMs]
  return (await db.query<{ disabledReason: string | null }>(SETTLE_WEBHOOK_ATTEMPT, [...values, attemptsKept])).rows[0]
}

const RELEASE_SQL = `
UPDATE webhook_deliveries SET under_way = false, next_attempt_at = reprise_now() WHERE id = $1 AND attempts = $2 AND under_way`

/** Undoes the claim of an attempt that was interrupted. */
export async function releaseWebhookDelivery(db: Queryable, deliveryId: string, number: number): Promise<void> {
  await db.query(RELEASE_SQL, [deliveryId, number])
}

/**
 * Deletes deliveries that are too old, with their attempts, oldest first. Indexes: webhook_deliveries(webhook_id,
 * created_at, id), primary key.
 */
const EXPIRE_WEBHOOK_DELIVERIES = `
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
 * Deletes old deliveries and returns how many. Pending deliveries are deleted too if their webhook has been disabled
 * for that long.
 */
export async function expireWebhookDeliveries(db: Queryable, olderThanSeconds: number, limit: number): Promise<number> {
  return (await db.query(EXPIRE_WEBHOOK_DELIVERIES, [olderThanSeconds, limit])).rowCount ?? 0
}
