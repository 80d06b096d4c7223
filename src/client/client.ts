/// <reference lib="esnext.disposable" preserve="true" />
import { chainOperations } from './chain.ts'
import { administrationOperations } from './administration.ts'
import type { Connection } from './connection/connection.ts'
import type { ConnectionOptions } from './connection/create-connection.ts'
import { deploymentOperations } from './deployments.ts'
import { eventOperations } from './events.ts'
import { logOperations } from './logs.ts'
import { resubmissionOperations } from './resubmissions.ts'
import { retryOperations } from './retries.ts'
import { scheduleOperations } from './schedules.ts'
import { sessionOperations } from './sessions.ts'
import { tokenOperations } from './tokens.ts'
import { webhookOperations } from './webhooks.ts'

export type ClientOptions = ConnectionOptions

export type Client = ReturnType<typeof createClientOn>

/** The client's own operations over a connection. */
export function createClientOn(connection: Connection) {
  return {
    ...sessionOperations(connection),
    ...retryOperations(connection),
    ...resubmissionOperations(connection),
    ...administrationOperations(connection),
    ...deploymentOperations(connection),
    ...scheduleOperations(connection),
    ...eventOperations(connection),
    ...chainOperations(connection),
    ...logOperations(connection),
    ...tokenOperations(connection),
    ...webhookOperations(connection),

    /** The servers, in the order in which they are tried. */
    urls: connection.urls.map(({ href }) => href),

    /** Any other query or mutation. */
    request: connection.request,
    /** Any other subscription. */
    stream: connection.stream,

    /** Ends everything in progress: calls and iterators throw ClientClosedError. */
    close: connection.close,
    [Symbol.asyncDispose]: connection.close,
  }
}
