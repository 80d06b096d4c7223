import { compareCursors, type EventCursor, type EventFilter, type OutboxEvent } from '../domain/events.ts'
import { RELAY_BATCH_EVENTS_MAX, SCANNED_EVENTS_MAX } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { readMatchingEvents, selectLabelled } from '../store/sql/event/read-events.sql.ts'
import { abortableGenerator } from './abortable-generator.ts'
import { onAbort } from '../waiting/wait.ts'
import type { EventBus } from './bus.ts'
import { readJointly } from './joint-reads.ts'
import { missed } from './past-events.ts'

/**
 * Yields events from a cursor on, or from now on, each once and in cursor order. Each list has the events that are
 * available at that moment. Also ends when the bus closes.
 *
 * No event is lost between the outbox and the live queue, because the queue is opened first. The horizon is the oldest
 * running transaction; readers see only events below it, and it only grows. The outbox is read after the queue was
 * opened, so up to a horizon that is not below that of the relay's last read. An event that a read of the outbox does
 * not find therefore arrives through the queue; duplicates are recognized by their cursor. What the bus still has is not
 * read from the outbox.
 *
 * @throws RepriseError CURSOR_EXPIRED if events were removed before they were read
 */
export function followEvents(options: {
  db: Database
  bus: EventBus
  filter: EventFilter
  after?: EventCursor | undefined
  /** Ends the iteration when it aborts. */
  closing: AbortSignal
  batchEventsMax?: number
}): AsyncIterableIterator<readonly OutboxEvent[]> {
  const { db, bus, filter, after, closing, batchEventsMax = RELAY_BATCH_EVENTS_MAX } = options
  const { subscriber, unsubscribe } = bus.subscribe(filter)
  const wanted = JSON.stringify(filter, (_name, value: unknown) => (value instanceof Set ? [...value] : value))
  const forget = onAbort(closing, unsubscribe)
  const end = () => {
    forget()
    unsubscribe()
  }
  return abortableGenerator((signal) => {
    signal.addEventListener('abort', end, { once: true })
    return follow()
  })

  async function* follow(): AsyncGenerator<readonly OutboxEvent[], void, void> {
    try {
      let position = after
      if (position) position = yield* missedSince(position)
      for (;;) {
        const delivery = await subscriber.take()
        if (delivery.kind === 'closed') return
        if (delivery.kind === 'gap') {
          position = yield* fromOutbox(later(delivery.after, position))
          continue
        }
        const fresh = position ? delivery.events.filter(isAfter(position)) : delivery.events
        const events = filter.labels && fresh.length > 0 ? await selectLabelled(db, fresh, filter.labels) : fresh
        position = fresh.at(-1)?.cursor ?? position
        if (events.length > 0) yield events
      }
    } finally {
      end()
    }
  }

  async function* missedSince(from: EventCursor): AsyncGenerator<readonly OutboxEvent[], EventCursor, void> {
    const published = bus.publishedAfter(from, filter)
    if (!published) return yield* fromOutbox(from)
    const { position } = bus
    const events =
      filter.labels && published.length > 0 ? await selectLabelled(db, published, filter.labels) : published
    if (events.length > 0) yield events
    subscriber.advance(position)
    return position
  }

  async function* fromOutbox(from: EventCursor): AsyncGenerator<readonly OutboxEvent[], EventCursor, void> {
    let position = from
    for (;;) {
      const bounds = { limit: batchEventsMax, scannedMax: SCANNED_EVENTS_MAX }
      const at = position
      const { events, removed, through, more } = await readJointly(
        db,
        `events ${at.xid} ${at.id} ${batchEventsMax} ${wanted}`,
        () => readMatchingEvents(db, at, filter, bounds),
      )
      if (removed) throw missed(removed)
      if (events.length > 0) yield events
      position = through
      subscriber.advance(position)
      if (!more) return position
    }
  }
}

function isAfter(position: EventCursor): (event: OutboxEvent) => boolean {
  return ({ cursor }) => compareCursors(cursor, position) > 0
}

function later(a: EventCursor, b: EventCursor | undefined): EventCursor {
  return b && compareCursors(b, a) > 0 ? b : a
}
