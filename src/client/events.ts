import type { CallOptions, Connection } from './connection.ts'
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

  const common = { cursorOf: ({ cursor }: { cursor: string }) => cursor, endsByItself: false }
  return {
    /** A cursor for `after`: everything after it happens from now on. */
    async eventCursor(options?: CallOptions): Promise<string> {
      return (await request(EventCursorDocument, {}, options)).eventCursor
    },

    retryEvents(filter: RetryEventFilter = {}, options: FollowOptions = {}): AsyncIterableIterator<RetryEvent> {
      return stream(
        {
          ...common,
          name: 'RetryEvents',
          document: RetryEventsDocument,
          variables: { filter },
          after: (signal) => startingAt(options.after, { ...options, signal }),
          read: (data) => (data as RetryEventsSubscription).retryEvents,
        },
        options,
      )
    },

    sessionEvents(filter: SessionEventFilter = {}, options: FollowOptions = {}): AsyncIterableIterator<SessionEvent> {
      return stream(
        {
          ...common,
          name: 'SessionEvents',
          document: SessionEventsDocument,
          variables: { filter },
          after: (signal) => startingAt(options.after, { ...options, signal }),
          read: (data) => (data as SessionEventsSubscription).sessionEvents,
        },
        options,
      )
    },

    deploymentEvents(
      filter: DeploymentEventFilter = {},
      options: FollowOptions = {},
    ): AsyncIterableIterator<DeploymentEvent> {
      return stream(
        {
          ...common,
          name: 'DeploymentEvents',
          document: DeploymentEventsDocument,
          variables: { filter },
          after: (signal) => startingAt(options.after, { ...options, signal }),
          read: (data) => (data as DeploymentEventsSubscription).deploymentEvents,
        },
        options,
      )
    },
  }
}
