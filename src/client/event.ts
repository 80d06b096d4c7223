import type { CallOptions, Connection, Document } from './connection/connection.ts'
import { PAGE_MAX } from './answers.ts'
import {
  DeploymentEventsDocument,
  type DeploymentEventsSubscription,
  EventCursorDocument,
  EventsDocument,
  RetryEventsDocument,
  type RetryEventsSubscription,
  SessionEventsDocument,
  type SessionEventsSubscription,
} from './operations.generated.ts'
import type { DeploymentEventFilter, RetryEventFilter, SessionEventFilter } from './schema-types.generated.ts'
import { picked } from './streams/closeable.ts'

export type RetryEvent = RetryEventsSubscription['retryEvents']
export type SessionEvent = SessionEventsSubscription['sessionEvents']

export type DeploymentEvent = DeploymentEventsSubscription['deploymentEvents']

export interface FollowOptions extends CallOptions {
  /** Cursor of your last event. Without it, from now on. */
  after?: string
}

export interface EventPageOptions extends CallOptions {
  /** At most 100; 20 by default. */
  last?: number
  /** `previous` of the page behind. */
  before?: string
}

export interface PastEventsOptions extends CallOptions {
  /** The largest number of events; 100 by default, 0 for all. */
  limit?: number
  /** Not those from before this time, in ISO 8601. */
  since?: string
}

export interface PastEvents {
  /** Oldest first. */
  events: SessionEvent[]
  /** `after` of `sessionEvents`, which then goes on without a gap. */
  cursor: string
  /** True if the limit left out some events. */
  more: boolean
}

/** All of them iterate without end, across server restarts, until they are closed or their signal aborts. */
export function eventOperations(connection: Connection) {
  const { request, stream } = connection

  /** Fixed before the first subscription, so events are not missed even while the connection cannot be made. */
  async function startingAt(after: string | undefined, options: CallOptions): Promise<string> {
    return after ?? (await request(EventCursorDocument, {}, options)).eventCursor
  }

  function follow<Data, Filter, Event>(
    document: Document<Data, { filter?: Filter; after?: string | null }>,
    filter: Filter,
    { after, ...call }: FollowOptions,
    pick: (data: Data) => Event,
  ): AsyncIterableIterator<Event> {
    const begin = async (signal: AbortSignal) => ({ filter, after: await startingAt(after, { ...call, signal }) })
    return picked(stream(document, begin, call), pick)
  }

  /** A page of what has happened: without `before` the newest. Events are the oldest first. */
  async function eventPage(filter: SessionEventFilter = {}, { last, before, ...options }: EventPageOptions = {}) {
    const { pageInfo, edges } = (await request(EventsDocument, { filter, last, before }, options)).events
    return {
      events: edges.map(({ node }) => node),
      /** `before` of the page before; null on the first page of what is kept. */
      previous: pageInfo.hasPreviousPage ? pageInfo.startCursor : null,
      /** `after` of `sessionEvents` for what comes after this page; null if it has no event and is not the newest. */
      cursor: pageInfo.endCursor,
    }
  }

  return {
    /** A cursor for `after`: everything after it happens from now on. */
    async eventCursor(options?: CallOptions): Promise<string> {
      return (await request(EventCursorDocument, {}, options)).eventCursor
    },

    eventPage,

    /** The newest events that have happened. */
    async pastEvents(
      filter: SessionEventFilter = {},
      { limit = PAGE_MAX, since, ...options }: PastEventsOptions = {},
    ): Promise<PastEvents> {
      const most = limit === 0 ? Infinity : limit
      const from = since === undefined ? -Infinity : Date.parse(since)
      const pages: SessionEvent[][] = []
      let count = 0
      let cursor: string | null = null
      let before: string | null | undefined
      while (before !== null && count <= most) {
        const page = await eventPage(filter, { ...options, last: PAGE_MAX, before })
        cursor ??= page.cursor
        const recent = page.events.filter(({ occurredAt }) => Date.parse(occurredAt) >= from)
        pages.unshift(recent)
        count += recent.length
        // Events lie in the order of their transactions, so that few are out of the order of time, and by little.
        before = recent.length === 0 && page.events.length > 0 ? null : page.previous
      }
      const events = pages.flat()
      return { events: events.slice(-most), cursor: cursor!, more: events.length > most }
    },

    retryEvents(filter: RetryEventFilter = {}, options: FollowOptions = {}): AsyncIterableIterator<RetryEvent> {
      return follow(RetryEventsDocument, filter, options, (data) => data.retryEvents)
    },

    sessionEvents(filter: SessionEventFilter = {}, options: FollowOptions = {}): AsyncIterableIterator<SessionEvent> {
      return follow(SessionEventsDocument, filter, options, (data) => data.sessionEvents)
    },

    deploymentEvents(
      filter: DeploymentEventFilter = {},
      options: FollowOptions = {},
    ): AsyncIterableIterator<DeploymentEvent> {
      return follow(DeploymentEventsDocument, filter, options, (data) => data.deploymentEvents)
    },
  }
}
