/// <reference lib="esnext.disposable" preserve="true" />
import { chainOperations } from './chain.ts'
import { accessOperations } from './access.ts'
import { agentOperations } from './agent.ts'
import type { Connection } from './connection/connection.ts'
import type { ConnectionOptions } from './connection/create-connection.ts'
import { deploymentOperations } from './deployment.ts'
import { eventOperations } from './event.ts'
import { logOperations } from './log.ts'
import { resubmissionOperations } from './resubmission.ts'
import { failureOperations } from './failure.ts'
import { groupOperations } from './group.ts'
import { outputOperations } from './output.ts'
import { retryOperations } from './retry.ts'
import { scheduleOperations } from './schedule.ts'
import { sessionOperations } from './session.ts'
import { webhookOperations } from './webhook.ts'

export type ClientOptions = ConnectionOptions

export type Client = ReturnType<typeof createClientOn>

/** Adds the client's own operations to a connection. */
export function createClientOn(connection: Connection) {
  return {
    ...sessionOperations(connection),
    ...retryOperations(connection),
    ...resubmissionOperations(connection),
    ...agentOperations(connection),
    ...deploymentOperations(connection),
    ...scheduleOperations(connection),
    ...eventOperations(connection),
    ...chainOperations(connection),
    ...logOperations(connection),
    ...outputOperations(connection),
    ...groupOperations(connection),
    ...failureOperations(connection),
    ...accessOperations(connection),
    ...webhookOperations(connection),

    /** The servers, in the order in which they are tried. */
    urls: connection.urls.map(({ href }) => href),

    /** Sends any other query or mutation. */
    request: connection.request,
    /** Opens any other subscription. */
    stream: connection.stream,

    /** Ends everything in progress: calls and iterators throw ClientClosedError. */
    close: connection.close,
    [Symbol.asyncDispose]: connection.close,
  }
}
