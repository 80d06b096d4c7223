import { compareCursors, type EventCursor, type EventFilter, eventMatches, type OutboxEvent } from '../domain/events.ts'
import { RECENT_EVENTS_MAX, SUBSCRIBER_QUEUE_EVENTS_MAX } from '../domain/limits.ts'

/** Distributes events within one process. Publishing never waits for a subscriber. */
export interface EventBus {
  /** Called before the first `publish`: only events above this position will be published. */
  startAt(position: EventCursor): void
  /** Expects events in cursor order, each once. */
  publish(events: readonly OutboxEvent[]): void
  /** Events up to this position will not be published: they were removed from the outbox before they were read. */
  skipTo(position: EventCursor): void
  /** Queues the matching events that are published from now on. */
  subscribe(filter: EventFilter): Subscription
  /** Passes matching events to a sink of the caller. */
  attach(filter: EventFilter, sink: EventSink): Attachment
  /**
   * The matching events that were published after this position: the same objects as the subscribers received. Undefined
   * if they are not all in memory, or not all published yet.
   */
  publishedAfter(position: EventCursor, filter: EventFilter): readonly OutboxEvent[] | undefined
  /** Whether all events after this position, up to the last published one, are in memory. */
  hasAfter(position: EventCursor): boolean
  /** Forgets the events that were published. */
  forgetPublished(): void
  /** The cursor of the last published event, which all subscribers have been offered. */
  readonly position: EventCursor
  /** Ends all subscriptions, including later ones. */
  close(): void
  readonly subscribers: number
}

export interface Subscription {
  readonly subscriber: Subscriber
  unsubscribe(): void
}

/** Receives matching events one by one, without making the relay wait. */
export interface EventSink {
  push(event: OutboxEvent): void
  /** Called when events are missing before the next one: they were removed, whether they matched or not. */
  miss(): void
  /** Called when no more events will come. */
  close(): void
}

export interface Attachment {
  /** All matching events after this position will be pushed. */
  position: EventCursor
  detach(): void
}

interface Entry {
  filter: EventFilter
  sink: EventSink
}

type Buckets = Map<string, Set<Entry>>

/**
 * Each subscriber is in the bucket of the narrowest condition of its filter: session, chain, deployment or project. A
 * filter by several chains puts it in the buckets of all of them. An event is offered only to the buckets of its
 * session or deployment, its chain and its project (that of a group only to its project), and to subscribers without such conditions.
 */
export function createEventBus(options: { queueEventsMax?: number; recentEventsMax?: number } = {}): EventBus {
  const { queueEventsMax: limit = SUBSCRIBER_QUEUE_EVENTS_MAX, recentEventsMax = RECENT_EVENTS_MAX } = options
  const bySession: Buckets = new Map()
  const byChain: Buckets = new Map()
  const byDeployment: Buckets = new Map()
  const byProject: Buckets = new Map()
  const all = new Set<Entry>()
  const open = new Set<Entry>()
  let position: EventCursor = { xid: 0n, id: 0n }
  /** All events from `recentFrom` to `position`. */
  let recent: OutboxEvent[] = []
  let recentFrom = position
  let closed = false

  function place(filter: EventFilter): { keys: readonly string[]; buckets: Buckets } | undefined {
    const { sessionId, chainId, chainIds, deploymentId, projectId } = filter
    if (sessionId) return { keys: [sessionId], buckets: bySession }
    if (chainId) return { keys: [chainId], buckets: byChain }
    if (chainIds) return { keys: [...chainIds], buckets: byChain }
    if (deploymentId) return { keys: [deploymentId], buckets: byDeployment }
    if (projectId) return { keys: [projectId], buckets: byProject }
    return undefined
  }

  function add(entry: Entry): void {
    const found = place(entry.filter)
    if (!found) all.add(entry)
    else for (const key of found.keys) found.buckets.set(key, (found.buckets.get(key) ?? new Set<Entry>()).add(entry))
    open.add(entry)
  }

  function remove(entry: Entry): void {
    if (!open.delete(entry)) return
    const found = place(entry.filter)
    if (!found) return void all.delete(entry)
    for (const key of found.keys) {
      const bucket = found.buckets.get(key)
      if (bucket?.delete(entry) && bucket.size === 0) found.buckets.delete(key)
    }
  }

  function keep(events: readonly OutboxEvent[]): void {
    for (const event of events) recent.push(event)
    // Not after each event: this moves all that are kept.
    if (recent.length < 2 * recentEventsMax) return
    const dropped = recent.length - recentEventsMax
    recentFrom = recent[dropped - 1]!.cursor
    recent = recent.slice(dropped)
  }

  function hasAfter(from: EventCursor): boolean {
    return compareCursors(from, recentFrom) >= 0 && compareCursors(from, position) <= 0
  }

  function publishedAfter(from: EventCursor, filter: EventFilter): readonly OutboxEvent[] | undefined {
    if (!hasAfter(from)) return undefined
    let first = recent.length
    while (first > 0 && compareCursors(recent[first - 1]!.cursor, from) > 0) first--
    return recent.slice(first).filter((event) => eventMatches(event, filter))
  }

  function offer(event: OutboxEvent, entries: ReadonlySet<Entry> | undefined): void {
    if (!entries) return
    for (const { filter, sink } of entries) if (eventMatches(event, filter)) sink.push(event)
  }

  function attach(filter: EventFilter, sink: EventSink): Attachment {
    const entry: Entry = { filter, sink }
    if (closed) sink.close()
    else add(entry)
    return { position, detach: () => remove(entry) }
  }

  return {
    startAt(start) {
      position = start
      recentFrom = start
    },
    publish(events) {
      keep(events)
      for (const event of events) {
        if (event.deploymentId !== null) offer(event, byDeployment.get(event.deploymentId))
        else if (event.sessionId !== null) {
          offer(event, bySession.get(event.sessionId))
          offer(event, byChain.get(event.chainId))
        }
        offer(event, byProject.get(event.projectId))
        offer(event, all)
        position = event.cursor
      }
    },
    skipTo(to) {
      recent = []
      recentFrom = to
      position = to
      for (const { sink } of open) sink.miss()
    },
    subscribe(filter) {
      const subscriber = new Subscriber(() => position, limit)
      const { detach } = attach(filter, subscriber)
      return {
        subscriber,
        unsubscribe() {
          detach()
          subscriber.close()
        },
      }
    },
    attach,
    publishedAfter,
    hasAfter,
    forgetPublished() {
      recent = []
      recentFrom = position
    },
    get position() {
      return position
    },
    close() {
      closed = true
      for (const { sink } of open) sink.close()
    },
    get subscribers() {
      return open.size
    },
  }
}

/** An answer of a subscriber's queue. After a gap, the subscriber must read the outbox from `after` on. */
type Delivery = { kind: 'events'; events: OutboxEvent[] } | { kind: 'gap'; after: EventCursor } | { kind: 'closed' }

/**
 * The queue between the relay, which never waits, and one subscriber, which may be slow. When it overflows, it drops
 * its content and remembers where that began: an overflow costs a read of the outbox, never an event.
 */
class Subscriber {
  readonly #limit: number
  /** The position of the bus. While an event is offered, that of the event before. */
  readonly #offered: () => EventCursor
  #queue: OutboxEvent[] = []
  /** The position up to which the subscriber has received everything; a gap begins here. */
  #position: EventCursor
  #gap = false
  #closed = false
  #waiting: (() => void) | undefined

  constructor(offered: () => EventCursor, limit: number) {
    this.#offered = offered
    this.#position = offered()
    this.#limit = limit
  }

  push(event: OutboxEvent): void {
    if (this.#closed) return
    // After an overflow the outbox will be read anyway; queueing would only use memory.
    if (!this.#gap) {
      // Nothing before this event matched and is still to be received.
      if (this.#queue.length === 0) this.advance(this.#offered())
      if (this.#queue.length < this.#limit) this.#queue.push(event)
      else this.#forget()
    }
    this.#waiting?.()
  }

  miss(): void {
    if (this.#closed) return
    this.#forget()
    this.#waiting?.()
  }

  /** Resolves with all queued events, as soon as there is one. */
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
