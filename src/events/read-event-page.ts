import { compareCursors, type EventCursor } from '../domain/event-cursor.ts'
import type { EventFilter, OutboxEvent } from '../domain/events.ts'
import { PAGE_SCANNED_EVENTS_MAX, SCANNED_EVENTS_MAX } from '../domain/limits.ts'
import type { Queryable } from '../store/database.ts'
import { countEvents, readEventWindow, type EventStretch } from '../store/sql/event/read-event-page.sql.ts'
import { readHorizon } from '../store/sql/event/read-events.sql.ts'

const BEGINNING: EventCursor = { xid: 0n, id: 0n }
/** What most pages are filled from; where fewer events match, the next windows are larger. */
const FIRST_WINDOW_EVENTS = 200
const WINDOW_GROWTH = 8

export interface EventPageRequest {
  filter: EventFilter
  after: EventCursor | undefined
  before: EventCursor | undefined
  /** From the newest on. */
  backward: boolean
  size: number
}

export interface EventPage {
  /** Oldest first. */
  events: OutboxEvent[]
  /** Whether there may be more, in the direction of reading. */
  more: boolean
  /** Place up to which events were looked at, in the direction of reading, if there may be more behind it. */
  through: EventCursor | null
  /** Nothing that was committed later lies before this place. */
  end: EventCursor
}

/**
 * Past events, up to the oldest running transaction. A page looks at a bounded number of events, so that it may have
 * fewer than asked for, even none, and more behind it.
 */
export async function readEventPage(db: Queryable, request: EventPageRequest): Promise<EventPage> {
  const { filter, backward, size } = request
  // Read first: what is committed after this is behind it, whatever the windows see.
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

/** How many events match, of those that one page may look at. */
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
