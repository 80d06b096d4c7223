import type { CallOptions, Connection, Document } from './connection/connection.ts'
import { PAGE_MAX } from './answers.ts'
import {
  DeploymentEventsDocument,
  type DeploymentEventsSubscription,
  EventCursorDocument,
  EventsDocument,
  PastDeploymentEventsDocument,
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
  /** Cursor of the last event that you have received. If missing, events from now on. */
  after?: string
}

export interface EventPageOptions extends CallOptions {
  /** Number of events: at most 100; 20 by default. */
  last?: number
  /** `previous` of the page after this one. */
  before?: string
}

export interface PastEventsOptions extends CallOptions {
  /** Maximum number of events; 100 by default, 0 for all. */
  limit?: number
  /** Only events since this time, in ISO 8601. */
  since?: string
}

export interface PastEvents<Event = SessionEvent> {
  /** The events, oldest first. */
  events: Event[]
  /** Cursor for `after` of `sessionEvents` or `deploymentEvents`, which then continues without a gap. */
  cursor: string
  /** True if the limit left out some events. */
  more: boolean
}

/**
 * Operations for events. Subscriptions iterate without end, across server restarts, until they are closed or their
 * signal aborts.
 */
export function eventOperations(connection: Connection) {
  const { request, stream } = connection

  /**
   * Fixes the cursor before the first subscription, so events are not missed even while the connection cannot be made.
   */
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

  /** Reads a page of past events of sessions, oldest first. Without `before` it is the newest page. */
  async function eventPage(filter: SessionEventFilter = {}, { last, before, ...options }: EventPageOptions = {}) {
    return pageOfEvents((await request(EventsDocument, { filter, last, before }, options)).events)
  }

  return {
    /** Returns a cursor of the present moment, for `after`: all later events follow it. */
    async eventCursor(options?: CallOptions): Promise<string> {
      return (await request(EventCursorDocument, {}, options)).eventCursor
    },

    eventPage,

    /** Returns the newest past events of sessions. */
    pastEvents(filter: SessionEventFilter = {}, options: PastEventsOptions = {}): Promise<PastEvents> {
      return newestEvents(options, (page) => eventPage(filter, page))
    },

    /** Returns the newest past events of deployments. */
    pastDeploymentEvents(
      filter: DeploymentEventFilter = {},
      options: PastEventsOptions = {},
    ): Promise<PastEvents<DeploymentEvent>> {
      return newestEvents(options, async ({ last, before, ...call }) =>
        pageOfEvents((await request(PastDeploymentEventsDocument, { filter, last, before }, call)).deploymentEvents),
      )
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

export interface EventPage<Event> {
  events: Event[]
  /** Pass it as `before` to get the previous page; null on the first page of the stored events. */
  previous: string | null
  /**
   * Pass it as `after` to the subscription to get the events after this page; null if the page has no event and is not
   * the newest.
   */
  cursor: string | null
}

function pageOfEvents<Event>({
  pageInfo,
  edges,
}: {
  pageInfo: { hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  edges: readonly { node: Event }[]
}): EventPage<Event> {
  const previous = pageInfo.hasPreviousPage ? pageInfo.startCursor : null
  return { events: edges.map(({ node }) => node), previous, cursor: pageInfo.endCursor }
}

/** Reads pages from the newest one backwards, until there are enough events. */
async function newestEvents<Event extends { occurredAt: string }>(
  { limit = PAGE_MAX, since, ...options }: PastEventsOptions,
  read: (page: EventPageOptions) => Promise<EventPage<Event>>,
): Promise<PastEvents<Event>> {
  const most = limit === 0 ? Infinity : limit
  const from = since === undefined ? -Infinity : Date.parse(since)
  const pages: Event[][] = []
  let count = 0
  let cursor: string | null = null
  let before: string | null | undefined
  while (before !== null && count <= most) {
    const page: EventPage<Event> = await read({ ...options, last: PAGE_MAX, before })
    cursor ??= page.cursor
    const recent = page.events.filter(({ occurredAt }) => Date.parse(occurredAt) >= from)
    pages.unshift(recent)
    count += recent.length
    // Events are ordered by transaction, so only a few are out of the order of time, and by little.
    before = recent.length === 0 && page.events.length > 0 ? null : page.previous
  }
  const events = pages.flat()
  return { events: events.slice(-most), cursor: cursor!, more: events.length > most }
}
