import { compareCursors, encodeCursor, type EventCursor, type EventFilter, type OutboxEvent } from '../domain/events.ts'
import { PAGE_SCANNED_EVENTS_MAX, SCANNED_EVENTS_MAX } from '../domain/limits.ts'
import type { Database, Queryable } from '../store/database.ts'
import { countEvents, type EventStretch, readEventWindow } from '../store/sql/event/read-event-page.sql.ts'
import { readHorizon, readOutboxBounds } from '../store/sql/event/read-events.sql.ts'
import { RepriseError } from '../domain/errors.ts'
import type { EventBus } from './bus.ts'
import { readJointly } from './joint-reads.ts'
import { isBetweenEras } from '../store/postgres/outbox-era.ts'

const BEGINNING: EventCursor = { xid: 0n, id: 0n }
/** Events read for most pages; if few of them match, the next windows are larger. */
const FIRST_WINDOW_EVENTS = 200
const WINDOW_GROWTH = 8

interface EventPageRequest {
  filter: EventFilter
  after: EventCursor | undefined
  before: EventCursor | undefined
  /** Reads from the newest event on. */
  backward: boolean
  size: number
}

interface EventPage {
  /** The events of the page, oldest first. */
  events: OutboxEvent[]
  /** Whether there may be more events in the direction of reading. */
  more: boolean
  /** The position up to which events were read, in the direction of reading; null if there are no more. */
  through: EventCursor | null
  /** Events that are committed later are after this position. */
  end: EventCursor
}

/**
 * Reads a page of past events, up to the oldest running transaction. It reads a bounded number of events, so a page may
 * have fewer events than requested, even none, although there are more after it.
 */
export async function readEventPage(db: Queryable, request: EventPageRequest): Promise<EventPage> {
  const { filter, backward, size } = request
  // Read first: events that are committed after this read are after `end`, even if a window returns them.
  const end = await readHorizon(db)
  let stretch = stretchOf(request, end)
  const found: OutboxEvent[] = []
  let scanned = 0
  let scannedMax = FIRST_WINDOW_EVENTS
  for (;;) {
    const limit = size + 1 - found.length
    const { events, seen, through } = await readEventWindow(db, { ...stretch, filter, backward, limit, scannedMax })
    found.push(...events)
    scanned += seen
    const full = found.length > size
    const more = full || (seen === scannedMax && through !== null)
    if (!more || full || scanned >= PAGE_SCANNED_EVENTS_MAX) {
      const page = found.slice(0, size)
      if (backward) page.reverse()
      return { events: page, more, through: more && !full ? through : null, end }
    }
    stretch = backward ? { ...stretch, before: through! } : { ...stretch, after: through! }
    scannedMax = Math.min(scannedMax * WINDOW_GROWTH, SCANNED_EVENTS_MAX, PAGE_SCANNED_EVENTS_MAX - scanned)
  }
}

/** Counts the matching events among those that one page may read. */
export async function countEventsOnPages(
  db: Queryable,
  filter: EventFilter,
): Promise<{ count: number; isExact: boolean }> {
  const stretch = { after: BEGINNING, before: await readHorizon(db) }
  const { seen, matching } = await countEvents(db, stretch, { filter, scannedMax: PAGE_SCANNED_EVENTS_MAX })
  return { count: matching, isExact: seen < PAGE_SCANNED_EVENTS_MAX }
}

function stretchOf({ after = BEGINNING, before }: EventPageRequest, end: EventCursor): EventStretch {
  return { after, before: before && compareCursors(before, end) < 0 ? before : end }
}

/**
 * Checks that all events after this cursor still exist, because removed ones would be skipped silently. Also checks
 * that the database has reached the cursor: a restored copy that is older would have no events there for a long time.
 * Nothing is read if `bus` has these events.
 *
 * @throws RepriseError CURSOR_EXPIRED; DATABASE_UNAVAILABLE while the database is a standby, and until a promoted one
 *   has begun its era
 */
export async function assertCursorKept(db: Database, cursor: EventCursor, bus?: EventBus): Promise<void> {
  if (bus?.hasAfter(cursor)) return
  const { removed, next: seen } = await readJointly(db, 'bounds', () => readOutboxBounds(db))
  if (compareCursors(cursor, removed) < 0) {
    throw expired(`events after this cursor are no longer kept; the kept events begin at ${encodeCursor(removed)}`)
  }
  if (cursor.xid <= seen.xid) return
  if (await isBetweenEras(db)) throw new RepriseError('DATABASE_UNAVAILABLE', 'The database is being promoted.')
  // The bounds that were read may belong to an era that has ended since.
  const { next } = await readOutboxBounds(db)
  if (cursor.xid > next.xid) {
    throw expired(`this database has not reached this cursor; the next event is after ${encodeCursor(next)}`)
  }
}

/** The fault of a reader that is so slow that events were removed before it had read them. */
export function missed(removed: EventCursor): RepriseError {
  const message = `Events were removed before this subscription had read them; the kept events begin at ${encodeCursor(removed)}`
  return new RepriseError('CURSOR_EXPIRED', message)
}

function expired(why: string): RepriseError {
  const message = `after: ${why}`
  return new RepriseError('CURSOR_EXPIRED', message, [{ path: 'after', message }])
}
