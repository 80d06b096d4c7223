import { compareCursors, type EventCursor } from '../domain/event-cursor.ts'
import type { OutboxEvent } from '../domain/events.ts'

/** What a subscriber gets from its queue. After a gap it must read the outbox from `after` on. */
export type Delivery =
  | { kind: 'events'; events: OutboxEvent[] }
  | { kind: 'gap'; after: EventCursor }
  | { kind: 'closed' }

/**
 * The queue between the relay, which never waits, and one subscriber, which may be slow. When it overflows, it drops
 * its content and remembers where that began: an overflow costs a read of the outbox, never an event.
 */
export class Subscriber {
  readonly #limit: number
  #queue: OutboxEvent[] = []
  /** The position up to which the subscriber has received everything; a gap begins here. */
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
    // In a gap the outbox will be read anyway; queueing would only use memory.
    if (!this.#gap) {
      if (this.#queue.length < this.#limit) this.#queue.push(event)
      else this.#forget()
    }
    this.#waiting?.()
  }

  /** Resolves with everything queued, as soon as there is something. */
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

  /** The subscriber has read the outbox up to here. */
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
