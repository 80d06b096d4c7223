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
  /** The cursor of the last event that you have. Without it, from now on. */
  after?: string
}

/** All iterate without end, over restarts of servers, until they are ended, or their signal aborts. */
export function eventOperations(connection: Connection) {
  const { request, stream } = connection

  /** Fixed before the first subscription: events of a time in which that could not be made are not missed either. */
  async function startingAt(after: string | undefined, options: CallOptions): Promise<string> {
    return after ?? (await request(EventCursorDocument, {}, options)).eventCursor
  }

  const common = { cursorOf: ({ cursor }: { cursor: string }) => cursor, endsByItself: false }
  return {
    /** A cursor for `after`: what comes behind it is what happens from now on. */
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
