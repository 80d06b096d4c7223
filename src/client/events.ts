import type { CallOptions, Connection, Document } from './connection/connection.ts'
import {
  DeploymentEventsDocument,
  EventCursorDocument,
  RetryEventsDocument,
  SessionEventsDocument,
  type DeploymentEventFilter,
  type DeploymentEventsSubscription,
  type RetryEventFilter,
  type RetryEventsSubscription,
  type SessionEventFilter,
  type SessionEventsSubscription,
} from './operations.generated.ts'
import { picked } from './streams/closeable.ts'

export type RetryEvent = RetryEventsSubscription['retryEvents']
export type SessionEvent = SessionEventsSubscription['sessionEvents']

export type DeploymentEvent = DeploymentEventsSubscription['deploymentEvents']

export interface FollowOptions extends CallOptions {
  /** Cursor of your last event. Without it, from now on. */
  after?: string
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

  return {
    /** A cursor for `after`: everything after it happens from now on. */
    async eventCursor(options?: CallOptions): Promise<string> {
      return (await request(EventCursorDocument, {}, options)).eventCursor
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
