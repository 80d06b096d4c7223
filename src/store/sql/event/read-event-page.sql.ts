import type { EventCursor, EventFilter, OutboxEvent } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { labelsParameter } from '../label-conditions.sql.ts'
import { EVENT_COLUMNS, eventLabelsMatch, type EventRow, toEvent } from './read-events.sql.ts'

const BETWEEN = '(e.xid, e.id) > ($1::xid8, $2::int8) AND (e.xid, e.id) < ($3::xid8, $4::int8)'

/** The parameter `labels` has the conditions on labels. */
const matches = (labels: string) => `($5::uuid IS NULL OR e.project_id = $5) AND ($6::uuid IS NULL OR e.chain_id = $6)
    AND ($7::uuid IS NULL OR e.session_id = $7) AND ($8::text[] IS NULL OR e.type = ANY($8))
    AND ($9::uuid[] IS NULL OR e.chain_id = ANY($9)) AND ($10::uuid IS NULL OR e.deployment_id = $10)
    AND ${eventLabelsMatch(labels)}`

/**
 * Reads $11 events from one end of a range, and returns those that match, beginning at that end, with the position of
 * the last event read. Index: session_events(xid, id), in either direction.
 */
function pageStatement(direction: 'ASC' | 'DESC'): string {
  const order = (table: string) => `ORDER BY ${table}.xid ${direction}, ${table}.id ${direction}`
  return `
WITH seen AS MATERIALIZED (
  SELECT e.* FROM session_events e WHERE ${BETWEEN} ${order('e')} LIMIT $11
), matching AS (
  SELECT e.xid AS place, e.id AS number, ${EVENT_COLUMNS} FROM seen e WHERE ${matches('$13')} ${order('e')} LIMIT $12
), through AS (
  SELECT seen.xid::text AS "throughXid", seen.id::text AS "throughId", (SELECT count(*) FROM seen) AS seen
  FROM seen ORDER BY seen.xid ${direction === 'ASC' ? 'DESC' : 'ASC'}, seen.id ${direction === 'ASC' ? 'DESC' : 'ASC'} LIMIT 1
)
SELECT through.*, xid, id, type, "sessionId", "chainId", "deploymentId", "routeId", "groupId", "projectId", data, "occurredAt"
FROM through LEFT JOIN matching ON true ORDER BY matching.place ${direction}, matching.number ${direction}`
}

const FORWARD_SQL = pageStatement('ASC')
const BACKWARD_SQL = pageStatement('DESC')

/** The range between two positions, both exclusive. */
export interface EventStretch {
  after: EventCursor
  before: EventCursor
}

export interface EventWindow extends EventStretch {
  filter: EventFilter
  /** Reads from the end of the range. */
  backward: boolean
  limit: number
  /** The most events that are read, whether or not they match. */
  scannedMax: number
}

export interface WindowOfEvents {
  /** Matching events, in the direction of reading. */
  events: OutboxEvent[]
  /** Number of events read; fewer than requested means that there are no more. */
  seen: number
  /** The position of the last event read; null if there was none. */
  through: EventCursor | null
}

export async function readEventWindow(db: Queryable, window: EventWindow): Promise<WindowOfEvents> {
  type Row = { [Column in keyof EventRow]: EventRow[Column] | null } & {
    throughXid: string
    throughId: string
    seen: number
  }
  const values = [
    ...valuesOf(window, window.filter),
    window.scannedMax,
    window.limit,
    labelsParameter(window.filter.labels),
  ]
  const { rows } = await db.query<Row>(window.backward ? BACKWARD_SQL : FORWARD_SQL, values)
  const [first] = rows
  if (!first) return { events: [], seen: 0, through: null }
  const events = rows
    .filter(({ xid }) => xid !== null)
    .map(({ throughXid: _xid, throughId: _id, seen: _seen, ...row }) => toEvent(row as unknown as EventRow))
  return { events, seen: first.seen, through: { xid: BigInt(first.throughXid), id: BigInt(first.throughId) } }
}

const COUNT_SQL = `
WITH seen AS (
  SELECT e.project_id, e.chain_id, e.session_id, e.deployment_id, e.route_id, e.type FROM session_events e WHERE ${BETWEEN}
  ORDER BY e.xid DESC, e.id DESC LIMIT $11
)
SELECT count(*) AS seen, count(*) FILTER (WHERE ${matches('$12')}) AS matching FROM seen e`

/** Counts the matches among the newest `scannedMax` events. */
export async function countEvents(
  db: Queryable,
  stretch: EventStretch,
  { filter, scannedMax }: Pick<EventWindow, 'filter' | 'scannedMax'>,
): Promise<{ seen: number; matching: number }> {
  const values = [...valuesOf(stretch, filter), scannedMax, labelsParameter(filter.labels)]
  return (await db.query<{ seen: number; matching: number }>(COUNT_SQL, values)).rows[0]!
}

function valuesOf({ after, before }: EventStretch, filter: EventFilter): unknown[] {
  const { projectId = null, chainId = null, sessionId = null, deploymentId = null, types, chainIds } = filter
  const places = [after.xid, after.id, before.xid, before.id].map(String)
  const lists = [types ? [...types] : null, chainIds ? [...chainIds] : null]
  return [...places, projectId, chainId, sessionId, ...lists, deploymentId]
}
