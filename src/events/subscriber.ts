import { compareCursors, type EventCursor } from '../domain/event-cursor.ts'
import type { OutboxEvent } from '../domain/events.ts'

/** What a subscriber takes from its queue. After a gap it has to read the outbox from `after` on. */
export type Delivery =
  | { kind: 'events'; events: OutboxEvent[] }
  | { kind: 'gap'; after: EventCursor }
  | { kind: 'closed' }

/**
 * The queue between the relay, which never waits, and one subscriber, which may be slow. Past its bound it
 * forgets what it holds and remembers where that began: losing the queue costs a read, never an event.
 */
export class Subscriber {
  readonly #limit: number
  #queue: OutboxEvent[] = []
  /** The newest event taken or forgotten before the gap began; nothing at or below it is owed. */
  #position: EventCursor
  #gap = false
  #closed = false
  #waiting: (() => void) | undefined

  constructor(position: EventCursor, limit: number) {
    this.#position = position
    this.#limit = limit
  }

  push(event: OutboxEvent): void {
    if (this.#closed) return
    // In a gap the outbox is read anyway; queueing would only keep rows alive.
    if (!this.#gap) {
      if (this.#queue.length < this.#limit) this.#queue.push(event)
      else this.#forget()
    }
    this.#waiting?.()
  }

  /** Everything queued, as soon as there is anything. */
  async take(): Promise<Delivery> {
    while (!this.#closed && !this.#gap && this.#queue.length === 0) {
      await new Promise<void>((resolve) => (this.#waiting = resolve))
      this.#waiting = undefined
    }
    if (this.#closed) return { kind: 'closed' }
    if (this.#gap) {
      this.#gap = false
      return { kind: 'gap', after: this.#position }
    }
    const events = this.#queue
    this.#queue = []
    this.#position = events.at(-1)!.cursor
    return { kind: 'events', events }
  }

  /** The subscriber has read the outbox up to here by itself. */
  advance(to: EventCursor): void {
    if (compareCursors(to, this.#position) > 0) this.#position = to
  }

  close(): void {
    this.#closed = true
    this.#queue = []
    this.#waiting?.()
  }

  #forget(): void {
    this.#gap = true
    this.#queue = []
  }
}
