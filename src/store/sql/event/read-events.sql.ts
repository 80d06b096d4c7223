import type { EventCursor, EventFilter, OutboxEvent } from '../../../domain/events.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { type LabelCondition, labelsMatch, labelsParameter } from '../label-conditions.sql.ts'

/** The position of the oldest running transaction. */
export const HORIZON = 'outbox_position(pg_snapshot_xmin(pg_current_snapshot()))'
/** The position that the next transaction will have. */
const NEXT_POSITION = 'outbox_position(pg_snapshot_xmax(pg_current_snapshot()))'

/** The columns of events `e`. */
export const EVENT_COLUMNS = `e.xid::text AS xid, e.id::text AS id, e.type, e.session_id AS "sessionId", e.chain_id AS "chainId",
  e.deployment_id AS "deploymentId", e.route_id AS "routeId", e.group_id AS "groupId", e.project_id AS "projectId", e.data,
  e.occurred_at AS "occurredAt"`
const AFTER = `(e.xid, e.id) > ($1::xid8, $2::int8) AND e.xid < ${HORIZON}`

/** The last removed event, and whether it is after the cursor that was read from: then events are missing. */
const REMOVED = `
SELECT value ->> 'xid' AS "removedXid", value ->> 'id' AS "removedId",
  ((value ->> 'xid')::xid8, (value ->> 'id')::int8) > ($1::xid8, $2::int8) AS missing
FROM settings WHERE key = 'events.removed-through'`

interface RemovedRow {
  removedXid: string
  removedId: string
  missing: boolean
}

interface Read {
  events: OutboxEvent[]
  /** The last removed event, if it is after the cursor that was read from; events before it are not read. */
  removed: EventCursor | null
}

/**
 * Reads events after a cursor, in cursor order, up to the oldest running transaction. A transaction that commits late
 * keeps all its events above that horizon until it ends, so a reader in this order cannot skip them. A transaction that
 * writes in another database of the same server holds the horizon back as well. Index: session_events(xid, id); the row
 * comparison and the horizon both bound the index scan.
 */
const READ_EVENTS_SQL = keepsPlan(`
WITH removed AS (${REMOVED})
SELECT e.*, removed.* FROM removed LEFT JOIN LATERAL (
  SELECT ${EVENT_COLUMNS} FROM session_events e WHERE ${AFTER} ORDER BY e.xid, e.id LIMIT $3) AS e ON true
ORDER BY e.xid::xid8, e.id::int8`)

/**
 * A row of the outbox. A CHECK guarantees that it is about one session, deployment or group and has only the columns of
 * that kind, or else about its project.
 */
export type EventRow = Omit<OutboxEvent, 'cursor'> & { xid: string; id: string }

/** Reads events; fewer than `limit` means that there are no more. */
export async function readEvents(db: Queryable, after: EventCursor, limit: number): Promise<Read> {
  const values = [String(after.xid), String(after.id), limit]
  const { rows } = await db.query<EventRow & RemovedRow>(READ_EVENTS_SQL, values)
  return readOf(rows)
}

/** @param rows at least one; those without an event have null in its columns */
function readOf(rows: readonly (EventRow & RemovedRow)[]): Read {
  const { missing, removedXid, removedId } = rows[0]!
  const events = rows
    .filter(({ xid }) => xid !== null)
    .map(({ removedXid: _xid, removedId: _id, missing: _missing, ...row }) => toEvent(row as unknown as EventRow))
  return { events, removed: missing ? { xid: BigInt(removedXid), id: BigInt(removedId) } : null }
}

/**
 * The labels of the chain that event `e` is about, or of the revision of its deployment or route. The labels of a chain
 * never change, and groups have none. Indexes: primary keys.
 */
const EVENT_LABELS = `coalesce((SELECT c.labels FROM chains c WHERE c.chain_id = e.chain_id),
      (SELECT v.labels FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id
        AND v.revision = coalesce((SELECT r.revision FROM routes r WHERE r.id = e.route_id), d.revision)
      WHERE d.id = e.deployment_id), '{}')`

/** Builds the condition that the labels of an event `e` match the conditions in a parameter. */
export function eventLabelsMatch(parameter: string): string {
  return labelsMatch(EVENT_LABELS, parameter)
}

const LABELLED_SQL = `
SELECT e.place FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS e(chain_id, deployment_id, route_id, place)
WHERE ${eventLabelsMatch('$4')} ORDER BY e.place`

/** Selects the events whose labels match. */
export async function selectLabelled(
  db: Queryable,
  events: readonly OutboxEvent[],
  labels: readonly LabelCondition[],
): Promise<OutboxEvent[]> {
  const ids = [
    events.map(({ chainId }) => chainId),
    events.map(({ deploymentId }) => deploymentId),
    events.map(({ routeId }) => routeId),
  ]
  const { rows } = await db.query<{ place: number }>(LABELLED_SQL, [...ids, labelsParameter(labels)])
  return rows.map(({ place }) => events[place - 1]!)
}

/**
 * Reads the next $3 events and returns those that match, with the position of the last event read. So a filter that
 * matches few events is read in many short statements, each of which makes progress, instead of in one that may never
 * end. No index fits every filter, and each index would cost every written event. About 10 ms for 10,000 events.
 */
const MATCHING_SQL = `
WITH seen AS MATERIALIZED (
  SELECT e.* FROM session_events e WHERE ${AFTER} ORDER BY e.xid, e.id LIMIT $3
), matching AS (
  SELECT ${EVENT_COLUMNS} FROM seen e
  WHERE ($4::uuid IS NULL OR project_id = $4) AND ($5::uuid IS NULL OR chain_id = $5)
    AND ($6::uuid IS NULL OR session_id = $6) AND ($7::text[] IS NULL OR type = ANY($7))
    AND ($8::uuid IS NULL OR deployment_id = $8) AND ($9::uuid[] IS NULL OR chain_id = ANY($9))
    AND ${eventLabelsMatch('$11')}
  ORDER BY e.xid, e.id LIMIT $10
), through AS (
  SELECT xid::text AS "throughXid", id::text AS "throughId", (SELECT count(*) FROM seen) AS seen
  FROM seen ORDER BY seen.xid DESC, seen.id DESC LIMIT 1
), removed AS (${REMOVED}
)
SELECT * FROM removed LEFT JOIN through ON true LEFT JOIN matching ON true ORDER BY matching.xid::xid8, matching.id::int8`

export interface MatchingEvents extends Read {
  /** All matching events up to this position have been read. */
  through: EventCursor
  more: boolean
}

/** Returns at most `limit` events, from at most `scannedMax` after the cursor. */
export async function readMatchingEvents(
  db: Queryable,
  after: EventCursor,
  filter: EventFilter,
  { limit, scannedMax }: { limit: number; scannedMax: number },
): Promise<MatchingEvents> {
  const { projectId = null, chainId = null, sessionId = null, deploymentId = null, types, chainIds } = filter
  const values = [String(after.xid), String(after.id), scannedMax, projectId, chainId, sessionId]
  type Row = EventRow & RemovedRow & { throughXid: string | null; throughId: string; seen: number }
  const lists = [types ? [...types] : null, deploymentId, chainIds ? [...chainIds] : null]
  const { rows } = await db.query<Row>(MATCHING_SQL, [...values, ...lists, limit, labelsParameter(filter.labels)])
  const { throughXid, throughId, seen } = rows[0]!
  const read = readOf(
    rows.map(({ throughXid: _xid, throughId: _id, seen: _seen, ...row }) => row as unknown as EventRow & RemovedRow),
  )
  if (throughXid === null) return { ...read, through: after, more: false }
  const last = read.events.length === limit ? read.events.at(-1) : undefined
  if (last) return { ...read, through: last.cursor, more: true }
  return { ...read, through: { xid: BigInt(throughXid), id: BigInt(throughId) }, more: seen === scannedMax }
}

export function toEvent({ xid, id, ...event }: EventRow): OutboxEvent {
  return { cursor: { xid: BigInt(xid), id: BigInt(id) }, ...event } as OutboxEvent
}

const HORIZON_SQL = `SELECT ${HORIZON}::text AS xid`

/** Reads a cursor after which every event is still invisible to readers, because it is not below the horizon. */
export async function readHorizon(db: Queryable): Promise<EventCursor> {
  const { rows } = await db.query<{ xid: string }>(HORIZON_SQL)
  return { xid: BigInt(rows[0]!.xid), id: 0n }
}

const READ_OUTBOX_BOUNDS_SQL = `
SELECT value ->> 'xid' AS xid, value ->> 'id' AS id, ${NEXT_POSITION}::text AS next
FROM settings WHERE key = 'events.removed-through'`

/**
 * Returns the bounds of the outbox. `removed` is the last removed event; everything after it still exists. `next` is a
 * position at or after which no event exists yet.
 */
export async function readOutboxBounds(db: Queryable): Promise<{ removed: EventCursor; next: EventCursor }> {
  const { xid, id, next } = (await db.query<{ xid: string; id: string; next: string }>(READ_OUTBOX_BOUNDS_SQL)).rows[0]!
  return { removed: { xid: BigInt(xid), id: BigInt(id) }, next: { xid: BigInt(next), id: 0n } }
}
