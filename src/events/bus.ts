import type { EventCursor } from '../domain/event-cursor.ts'
import { eventMatches, type EventFilter, type OutboxEvent } from '../domain/events.ts'
import { SUBSCRIBER_QUEUE_EVENTS_MAX } from '../domain/limits.ts'
import { Subscriber } from './subscriber.ts'

/** Fan-out of events within one process. Publishing never waits for a subscriber. */
export interface EventBus {
  /** Called before the first `publish`: only events above this position will be published. */
  startAt(position: EventCursor): void
  /** In cursor order, each event once. */
  publish(events: readonly OutboxEvent[]): void
  /** From the next published event on. */
  subscribe(filter: EventFilter): Subscription
  /** Ends all subscriptions, including later ones. */
  close(): void
  readonly subscribers: number
}

export interface Subscription {
  readonly subscriber: Subscriber
  unsubscribe(): void
}

interface Entry {
  filter: EventFilter
  subscriber: Subscriber
}

type Buckets = Map<string, Set<Entry>>

/**
 * Each subscriber is in one bucket, that of its narrowest filter. An event is offered only to the buckets of its
 * session or deployment, its chain and its project, and to subscribers without such a filter.
 */
export function createEventBus(options: { queueEventsMax?: number } = {}): EventBus {
  const limit = options.queueEventsMax ?? SUBSCRIBER_QUEUE_EVENTS_MAX
  const bySession: Buckets = new Map()
  const byChain: Buckets = new Map()
  const byDeployment: Buckets = new Map()
  const byProject: Buckets = new Map()
  const all = new Set<Entry>()
  let position: EventCursor = { xid: 0n, id: 0n }
  let subscribers = 0
  let closed = false

  function place({
    sessionId,
    chainId,
    deploymentId,
    projectId,
  }: EventFilter): { key: string; buckets: Buckets } | undefined {
    if (sessionId) return { key: sessionId, buckets: bySession }
    if (chainId) return { key: chainId, buckets: byChain }
    if (deploymentId) return { key: deploymentId, buckets: byDeployment }
    if (projectId) return { key: projectId, buckets: byProject }
    return undefined
  }

  function add(entry: Entry): void {
    const found = place(entry.filter)
    if (!found) all.add(entry)
    else found.buckets.set(found.key, (found.buckets.get(found.key) ?? new Set<Entry>()).add(entry))
    subscribers++
  }

  function remove(entry: Entry): void {
    const found = place(entry.filter)
    const bucket = found ? found.buckets.get(found.key) : all
    if (!bucket?.delete(entry)) return
    if (found && bucket.size === 0) found.buckets.delete(found.key)
    subscribers--
  }

  function offer(event: OutboxEvent, entries: ReadonlySet<Entry> | undefined): void {
    if (!entries) return
    for (const { filter, subscriber } of entries) if (eventMatches(event, filter)) subscriber.push(event)
  }

  return {
    startAt(start) {
      position = start
    },
    publish(events) {
      for (const event of events) {
        if (event.sessionId === null) offer(event, byDeployment.get(event.deploymentId))
        else {
          offer(event, bySession.get(event.sessionId))
          offer(event, byChain.get(event.chainId))
        }
        offer(event, byProject.get(event.projectId))
        offer(event, all)
        position = event.cursor
      }
    },
    subscribe(filter) {
      const entry: Entry = { filter, subscriber: new Subscriber(position, limit) }
      if (closed) entry.subscriber.close()
      else add(entry)
      return {
        subscriber: entry.subscriber,
        unsubscribe() {
          remove(entry)
          entry.subscriber.close()
        },
      }
    },
    close() {
      closed = true
      const buckets = [bySession, byChain, byDeployment, byProject].flatMap((map) => [...map.values()])
      for (const bucket of [...buckets, all]) {
        for (const { subscriber } of bucket) subscriber.close()
      }
    },
    get subscribers() {
      return subscribers
    },
  }
}
