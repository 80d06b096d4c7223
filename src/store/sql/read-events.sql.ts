import type { EventCursor } from '../../domain/event-cursor.ts'
import type { EventFilter, OutboxEvent } from '../../domain/events.ts'
import type { Queryable } from '../database.ts'

/**
 * Events after a cursor, in cursor order, up to the oldest transaction that still runs: a transaction that
 * commits late has all its events above that horizon until it is over, so nobody who reads in this order can
 * pass it by. A transaction that writes in another database of the same server holds the horizon as well.
 * Index: session_events(xid, id); the row comparison and the horizon are both its bounds.
 */
const SQL = `
SELECT xid::text AS xid, id::text AS id, type, session_id AS "sessionId", chain_id AS "chainId",
  deployment_id AS "deploymentId", route_id AS "routeId", project_id AS "projectId", data, occurred_at AS "occurredAt"
FROM session_events e
WHERE (e.xid, e.id) > ($1::xid8, $2::int8) AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
  AND ($3::uuid IS NULL OR project_id = $3) AND ($4::uuid IS NULL OR chain_id = $4)
  AND ($5::uuid IS NULL OR session_id = $5) AND ($6::text[] IS NULL OR type = ANY($6))
  AND ($8::uuid IS NULL OR deployment_id = $8)
ORDER BY e.xid, e.id LIMIT $7`

/** That it is of a session or of a deployment, with the columns of the one and without those of the other, is a CHECK. */
type EventRow = Omit<OutboxEvent, 'cursor'> & { xid: string; id: string }

/** Fewer than `limit` means that there were no more. */
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

/** What follows this cursor is everything that is not below the horizon now. */
export async function readHorizon(db: Queryable): Promise<EventCursor> {
  const { rows } = await db.query<{ xid: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid')
  return { xid: BigInt(rows[0]!.xid), id: 0n }
}
