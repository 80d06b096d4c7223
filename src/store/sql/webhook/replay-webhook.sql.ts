import { TEST_EVENT_TYPE } from '../../../domain/webhook/payload.ts'
import type { Queryable } from '../../database.ts'
import { HORIZON } from '../event/read-events.sql.ts'
import { DELIVERY_COLUMNS, DELIVERY_SOURCES, deliverySelect, hasPatternFor } from './webhook-delivery-columns.sql.ts'

const TEST_SQL = `
INSERT INTO webhook_deliveries (id, webhook_id, event_type, occurred_at, facts)
VALUES ($1, $2, '${TEST_EVENT_TYPE}', reprise_now(), 'null')`

export async function insertTestDelivery(tx: Queryable, id: string, webhookId: string): Promise<void> {
  await tx.query(TEST_SQL, [id, webhookId])
}

export interface LockedDelivery {
  webhookId: string
  projectId: string | null
  /** Whether its webhook is enabled. */
  enabled: boolean
}

const LOCK_SQL = `
SELECT d.webhook_id AS "webhookId", w.project_id AS "projectId", w.enabled
FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
WHERE d.id = $1 AND ($2::uuid IS NULL OR w.project_id = $2) FOR UPDATE OF d`

/** Undefined if the viewer sees no such delivery. */
export async function lockDelivery(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<LockedDelivery | undefined> {
  return (await tx.query<LockedDelivery>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

/**
 * Restarts a delivery's schedule. A delivery that is being attempted already has what is asked for, unless its lease
 * has expired.
 */
const RESTARTED = `status = 'PENDING', failures = 0, failing_since = NULL, finished_at = NULL,
  next_attempt_at = CASE WHEN under_way THEN next_attempt_at ELSE reprise_now() END`

const RESTART_SQL = `UPDATE webhook_deliveries SET ${RESTARTED} WHERE id = $1`

export async function restartDelivery(tx: Queryable, id: string): Promise<void> {
  await tx.query(RESTART_SQL, [id])
}

/**
 * Index: webhook_deliveries(webhook_id, created_at, id), since a delivery is always created after its event occurred.
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
 * Events since $2 that the webhook was never sent: it was disabled, or asked for other events at the time. Events that
 * fan-out has not reached yet are left to it. Indexes: session_events(occurred_at), webhook_deliveries(webhook_id,
 * event_id).
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

/** Oldest first; returns how many were added. */
export async function addMissed(tx: Queryable, webhookId: string, since: Date, limit: number): Promise<number> {
  return (await tx.query(MISSED_SQL, [webhookId, since, limit])).rowCount ?? 0
}
