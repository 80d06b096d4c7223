import type { EventCursor } from '../../domain/event-cursor.ts'
import type { EventFilter, OutboxEvent } from '../../domain/events.ts'
import type { Queryable } from '../database.ts'

/** Position of the oldest running transaction. */
export const HORIZON = 'outbox_position(pg_snapshot_xmin(pg_current_snapshot()))'
/** Position that no transaction has had yet. */
export const NEXT_POSITION = 'outbox_position(pg_snapshot_xmax(pg_current_snapshot()))'

/**
 * Events after a cursor, in cursor order, up to the oldest running transaction. A transaction that commits late keeps
 * all its events above that horizon until it ends, so a reader in this order cannot skip them. A transaction that
 * writes in another database of the same server holds the horizon back as well.
 * Index: session_events(xid, id); the row comparison and the horizon both bound the index scan.
 */
const SQL = `
SELECT xid::text AS xid, id::text AS id, type, session_id AS "sessionId", chain_id AS "chainId",
  deployment_id AS "deploymentId", route_id AS "routeId", project_id AS "projectId", data, occurred_at AS "occurredAt"
FROM session_events e
WHERE (e.xid, e.id) > ($1::xid8, $2::int8) AND e.xid < ${HORIZON}
  AND ($3::uuid IS NULL OR project_id = $3) AND ($4::uuid IS NULL OR chain_id = $4)
  AND ($5::uuid IS NULL OR session_id = $5) AND ($6::text[] IS NULL OR type = ANY($6))
  AND ($8::uuid IS NULL OR deployment_id = $8)
ORDER BY e.xid, e.id LIMIT $7`

/** A CHECK guarantees that a row is about either a session or a deployment and has only the columns of that kind. */
type EventRow = Omit<OutboxEvent, 'cursor'> & { xid: string; id: string }

/** Fewer than `limit` means that there are no more. */
export async function readEvents(
  db: Queryable,
  after: EventCursor,
  limit: number,
  filter: EventFilter = {},
): Promise<OutboxEvent[]> {
  const { projectId = null, chainId = null, sessionId = null, deploymentId = null, types = null } = filter
  const values = [after.xid, after.id, projectId, chainId, sessionId, types && [...types], limit, deploymentId]
  const { rows } = await db.query<EventRow>(SQL, values.map(asText))
  return rows.map(
    ({ xid, id, ...event }) => ({ cursor: { xid: BigInt(xid), id: BigInt(id) }, ...event }) as OutboxEvent,
  )
}

function asText(value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

const HORIZON_SQL = `SELECT ${HORIZON}::text AS xid`

/** Everything after this cursor is still invisible to readers now: it is not below the horizon. */
export async function readHorizon(db: Queryable): Promise<EventCursor> {
  const { rows } = await db.query<{ xid: string }>(HORIZON_SQL)
  return { xid: BigInt(rows[0]!.xid), id: 0n }
}
