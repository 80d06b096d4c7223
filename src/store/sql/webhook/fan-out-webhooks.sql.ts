import { EVENT_TYPES, type EventCursor } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { HORIZON } from '../event/read-events.sql.ts'
import { DELIVERY_COLUMNS, DELIVERY_SOURCES, deliverySelect, hasPatternFor } from './webhooks.sql.ts'
import { TEST_EVENT_TYPE } from '../../../domain/webhook.ts'

/**
 * Checks for events between the cursor and the oldest running transaction. It only reads, so that an idle server writes
 * nothing. ORDER BY makes the planner read the index from the cursor on: usually there are no events, and finding that
 * out in any other way would scan the whole outbox. A cursor from the future is handled by `lockWebhookCursor`.
 */
const WAITING_SQL = `
SELECT EXISTS (
  SELECT FROM (SELECT FROM session_events e
    WHERE (e.xid, e.id) > (c.xid, c.id) AND e.xid < ${HORIZON}
    ORDER BY e.xid, e.id LIMIT 1) AS first
) AS waiting
FROM (SELECT (value ->> 'xid')::xid8 AS xid, (value ->> 'id')::int8 AS id FROM settings WHERE key = 'webhooks.cursor') AS c
WHERE EXISTS (SELECT FROM webhooks WHERE enabled)`

/** Returns whether there are events to turn into deliveries, and an enabled webhook. Index: session_events(xid, id). */
export async function hasWaitingEvents(db: Queryable): Promise<boolean> {
  return (await db.query<{ waiting: boolean }>(WAITING_SQL)).rows[0]?.waiting ?? false
}

/** `since` is the position before which no webhook wants any event. */
const LOCK_SQL = `
SELECT value ->> 'xid' AS xid, value ->> 'id' AS id,
  (SELECT pg_snapshot_xmin(active_since)::text FROM webhooks WHERE enabled
    ORDER BY pg_snapshot_xmin(active_since) LIMIT 1) AS since
FROM settings WHERE key = 'webhooks.cursor' FOR UPDATE SKIP LOCKED`

/**
 * Locks the outbox position from which to continue and returns it; undefined if another server has locked it or no
 * webhook is enabled.
 */
export async function lockWebhookCursor(tx: Queryable): Promise<EventCursor | undefined> {
  const { rows } = await tx.query<{ xid: string; id: string; since: string | null }>(LOCK_SQL)
  const row = rows[0]
  if (!row || row.since === null) return undefined
  const cursor = { xid: BigInt(row.xid), id: BigInt(row.id) }
  const since = BigInt(row.since)
  return since > cursor.xid ? { xid: since, id: 0n } : cursor
}

/** A webhook gets an event if its own snapshot, taken when it was enabled, did not include the event. */
const HEARS = 'NOT pg_visible_in_snapshot(e.xid, w.active_since)'

/**
 * Turns events into deliveries, in cursor order below the horizon, as subscribers read them. UNIQUE (webhook_id,
 * event_id) gives a webhook each event once, even if a server crashes. Patterns are matched against event types once
 * per batch. Indexes: session_events(xid, id), the primary keys of what an event refers to.
 */
const SQL = `
WITH events AS MATERIALIZED (
  SELECT e.*, row_number() OVER (ORDER BY e.xid, e.id) AS place FROM session_events e
  WHERE (e.xid, e.id) > ($1::xid8, $2::int8) AND e.xid < ${HORIZON}
  ORDER BY e.xid, e.id LIMIT $3
), hearers AS MATERIALIZED (
  SELECT w.*, t.type FROM webhooks w JOIN unnest($4::text[]) AS t(type) ON ${hasPatternFor('t.type')}
  WHERE w.enabled
), added AS (
  INSERT INTO webhook_deliveries (${DELIVERY_COLUMNS})
  SELECT ${deliverySelect('e.place')} FROM events e
  JOIN hearers w ON w.type = e.type AND (w.project_id IS NULL OR w.project_id = e.project_id)
    AND (w.chain_id IS NULL OR w.chain_id = e.chain_id) AND ${HEARS}
  ${DELIVERY_SOURCES}
  ON CONFLICT (webhook_id, event_id) DO NOTHING RETURNING 1
), moved AS (
  UPDATE settings SET updated_at = reprise_now(), value = jsonb_build_object('xid', last.xid::text, 'id', last.id::text)
  FROM (
    SELECT xid, id FROM events UNION ALL SELECT $1::xid8, $2::int8 ORDER BY xid DESC, id DESC LIMIT 1
  ) AS last WHERE key = 'webhooks.cursor'
)
SELECT (SELECT count(*) FROM events) AS read, (SELECT count(*) FROM added) AS added`

export async function fanOutEvents(
  tx: Queryable,
  after: EventCursor,
  limit: number,
): Promise<{ read: number; added: number }> {
  const values = [after.xid.toString(), after.id.toString(), limit, EVENT_TYPES]
  return (await tx.query<{ read: number; added: number }>(SQL, values)).rows[0]!
}

const TEST_SQL = `
INSERT INTO webhook_deliveries (id, webhook_id, event_type, occurred_at, facts)
VALUES ($1, $2, '${TEST_EVENT_TYPE}', reprise_now(), 'null')`

export async function insertTestDelivery(tx: Queryable, id: string, webhookId: string): Promise<void> {
  await tx.query(TEST_SQL, [id, webhookId])
}

interface LockedDelivery {
  webhookId: string
  projectId: string | null
  /** Whether its webhook is enabled. */
  enabled: boolean
}

const LOCK_REPLAY_WEBHOOK = `
SELECT d.webhook_id AS "webhookId", w.project_id AS "projectId", w.enabled
FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
WHERE d.id = $1 AND ($2::uuid IS NULL OR w.project_id = $2) FOR UPDATE OF d`

/** Returns undefined if the viewer sees no such delivery. */
export async function lockDelivery(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<LockedDelivery | undefined> {
  return (await tx.query<LockedDelivery>(LOCK_REPLAY_WEBHOOK, [id, visibleProjectId])).rows[0]
}

/**
 * Restarts a delivery's schedule. A delivery that is being attempted needs no restart, unless its lease has expired.
 */
const RESTARTED = `status = 'PENDING', failures = 0, failing_since = NULL, finished_at = NULL,
  next_attempt_at = CASE WHEN under_way THEN next_attempt_at ELSE reprise_now() END`

const RESTART_SQL = `UPDATE webhook_deliveries SET ${RESTARTED} WHERE id = $1`

export async function restartDelivery(tx: Queryable, id: string): Promise<void> {
  await tx.query(RESTART_SQL, [id])
}

/**
 * Uses the index webhook_deliveries(webhook_id, created_at, id), because a delivery is always created after its event
 * occurred.
 */
const FAILED_SQL = `
UPDATE webhook_deliveries SET ${RESTARTED} WHERE id IN (
  SELECT id FROM webhook_deliveries
  WHERE webhook_id = $1 AND created_at >= $2 AND occurred_at >= $2 AND status = 'FAILED' AND event_id IS NOT NULL
  ORDER BY created_at, id LIMIT $3 FOR UPDATE)`

/** Restarts deliveries since `since` that failed, oldest first; returns how many. */
export async function restartFailed(tx: Queryable, webhookId: string, since: Date, limit: number): Promise<number> {
  return (await tx.query(FAILED_SQL, [webhookId, since, limit])).rowCount ?? 0
}

/**
 * Selects events since $2 that the webhook was never sent, because it was disabled or had not subscribed to them at the
 * time. Events that fan-out has not reached yet are left to it. Indexes: session_events(occurred_at),
 * webhook_deliveries(webhook_id, event_id).
 */
const MISSED_SQL = `
WITH missed AS (
  SELECT e.*, row_number() OVER (ORDER BY e.xid, e.id) AS place, w.id AS webhook_id
  FROM webhooks w JOIN session_events e ON (w.project_id IS NULL OR w.project_id = e.project_id)
    AND (w.chain_id IS NULL OR w.chain_id = e.chain_id)
  JOIN settings c ON c.key = 'webhooks.cursor'
  ${DELIVERY_SOURCES} AND w.id = $1 AND e.occurred_at >= $2 AND e.xid < ${HORIZON}
    AND (pg_visible_in_snapshot(e.xid, w.active_since)
      OR (e.xid, e.id) <= ((c.value ->> 'xid')::xid8, (c.value ->> 'id')::int8))
    AND ${hasPatternFor('e.type')}
    AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.event_id = e.id)
  ORDER BY e.xid, e.id LIMIT $3
)
INSERT INTO webhook_deliveries (${DELIVERY_COLUMNS})
SELECT ${deliverySelect('e.place')} FROM missed e JOIN webhooks w ON w.id = e.webhook_id
${DELIVERY_SOURCES}
ON CONFLICT (webhook_id, event_id) DO NOTHING`

/** Adds deliveries, oldest first; returns how many. */
export async function addMissed(tx: Queryable, webhookId: string, since: Date, limit: number): Promise<number> {
  return (await tx.query(MISSED_SQL, [webhookId, since, limit])).rowCount ?? 0
}
