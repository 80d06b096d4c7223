import type { DeliveryFacts } from '../../../domain/webhook/payload.ts'
import type { Queryable } from '../../database.ts'

export interface ClaimedDelivery {
  id: string
  /** The number of the attempt. Whoever claims the delivery after the lease gets a greater one. */
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
  /** Set while it is valid beside the new one. */
  previousSecret: Buffer | null
  /** Whether its webhook is failing. */
  failing: boolean
  /** The database's time. */
  now: Date
}

/**
 * How many attempts may start: in total, at failing endpoints together, and per endpoint. `running` counts attempts by
 * webhook.
 */
export interface ClaimLimits {
  total: number
  failing: number
  perEndpoint: number
  running: ReadonlyMap<string, number>
}

/**
 * Due deliveries: the first of every webhook, then the second of every webhook, and so on; within a webhook in event
 * order. A failing endpoint gets one attempt at a time, and all failing endpoints together take no more than their
 * share. The lease is `next_attempt_at`: a delivery with no recorded result by then is due again.
 * Index: webhook_deliveries_queue, one probe for each webhook that has something pending.
 */
const SQL = `
WITH RECURSIVE queued AS (
  (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'PENDING' ORDER BY d.webhook_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'PENDING' AND d.webhook_id > queued.webhook_id
    ORDER BY d.webhook_id LIMIT 1)
  FROM queued WHERE queued.webhook_id IS NOT NULL
), hooks AS MATERIALIZED (
  SELECT w.id, w.failing_since IS NOT NULL AS failing,
    greatest(0, CASE WHEN w.failing_since IS NULL THEN $3 ELSE 1 END - coalesce(busy.running, 0)) AS free
  FROM queued JOIN webhooks w ON w.id = queued.webhook_id
  LEFT JOIN unnest($5::uuid[], $6::int[]) AS busy(webhook_id, running) ON busy.webhook_id = w.id
  WHERE w.enabled AND (w.resting_until IS NULL OR w.resting_until <= reprise_now())
), heads AS MATERIALIZED (
  SELECT h.failing, due.*, row_number() OVER (PARTITION BY h.failing ORDER BY due.turn, due.next_attempt_at) AS place
  FROM hooks h, LATERAL (
    SELECT d.id, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at, d.event_id) AS turn
    FROM webhook_deliveries d
    WHERE d.status = 'PENDING' AND d.webhook_id = h.id AND d.next_attempt_at <= reprise_now()
    ORDER BY d.next_attempt_at, d.event_id LIMIT h.free) AS due
), taken AS MATERIALIZED (
  SELECT d.id, h.failing FROM heads h JOIN webhook_deliveries d ON d.id = h.id
  WHERE d.status = 'PENDING' AND d.next_attempt_at <= reprise_now() AND (NOT h.failing OR h.place <= $2)
  ORDER BY h.place, h.failing LIMIT $1
  FOR UPDATE OF d SKIP LOCKED
)
UPDATE webhook_deliveries d
SET attempts = d.attempts + 1, under_way = true, next_attempt_at = reprise_now() + make_interval(secs => $4 / 1000.0)
FROM taken, webhooks w WHERE d.id = taken.id AND w.id = d.webhook_id
RETURNING d.id, d.attempts AS attempt, d.failures, d.webhook_id AS "webhookId", d.event_id::text AS "eventId",
  d.event_type AS "eventType", d.occurred_at AS "occurredAt", d.session_id AS "sessionId", d.chain_id AS "chainId",
  nullif(d.facts, 'null') AS facts, w.url, w.secret, w.secret_sealed AS "secretSealed",
  CASE WHEN w.previous_secret_expires_at > reprise_now() THEN w.previous_secret END AS "previousSecret", taken.failing, reprise_now() AS now`

export async function claimWebhookDeliveries(
  db: Queryable,
  { total, failing, perEndpoint, running }: ClaimLimits,
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const values = [total, failing, perEndpoint, leaseMs, [...running.keys()], [...running.values()]]
  const { rows } = await db.query<ClaimedDelivery>(SQL, values)
  return rows.toSorted((a, b) => Number(a.eventId) - Number(b.eventId))
}
