import { initContextCache } from '@pothos/core'
import type { EventBus } from '../events/bus.ts'
import type { Topics } from '../events/topics.ts'
import type { WakeHub } from '../events/wake-hub.ts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracer } from '../observability/trace.ts'
import type { Authenticate } from '../services/authenticate.ts'
import type { ServiceContext, Viewer } from '../services/service-context.ts'
import { createLoaders, type Loaders } from './loaders.ts'
import type { OpenSubscriptions } from './open-subscriptions.ts'
import type { ReadSessions } from '../services/read-selected-sessions.ts'
import type { SelectSessions } from './session-selects.ts'

/** What the server has, the same for all requests. */
export interface GraphQLServices {
  db: ServiceContext['db']
  prisma: PrismaClient
  bus: EventBus
  topics: Topics
  wake: WakeHub
  authenticate: Authenticate
  log: Logger
  metrics: Metrics
  trace: Tracer
  openSubscriptions: OpenSubscriptions
  readSessions: ReadSessions
  selectSessions: SelectSessions
  /** Aborts when the server closes: endless work ends. */
  closing: AbortSignal
}

/** One per operation; a subscription has one for its whole life, see `renewed`. */
export interface GraphQLContext extends ServiceContext {
  services: GraphQLServices
  requestId: string
  loaders: Loaders
  /** Whether the token that the operation came with is still in force. */
  stillAuthorized: () => Promise<boolean>
  /** What the operation came over: a socket, or the request itself. */
  connection: object
  /** Tells the transport that it is not: a subscription was ended for it. */
  revoked: () => void
}

export interface Requester {
  viewer: Viewer
  token: string
  requestId: string
  connection?: object
  revoked?: () => void
}

/** Operations come with who asks where the transport has found that out already. */
export interface ServerContext {
  requester?: Requester
  /** Of the HTTP request. */
  requestId?: string
}

/** Turns what the server knows about an operation into its context. In place: a copy for each would cost more. */
export function fillContext(
  initial: object,
  services: GraphQLServices,
  { viewer, token, requestId, connection = {}, revoked = () => {} }: Requester,
): asserts initial is GraphQLContext {
  const { db, wake, metrics } = services
  const context: Omit<GraphQLContext, 'log'> = Object.assign(initial, {
    ...initContextCache(),
    services,
    db,
    wake,
    metrics,
    viewer,
    requestId,
    loaders: loadersOf(services, viewer),
    stillAuthorized: async () => (await services.authenticate(token)) !== null,
    connection,
    revoked,
  })
  // Created on first use: few operations log anything.
  let log: Logger | undefined
  const get = () => (log ??= services.log.child({ requestId }))
  Object.defineProperty(context, 'log', { get, enumerable: true })
}

/** For the next event of a subscription: nothing that an earlier event loaded is believed any more. */
export function renew(context: GraphQLContext): void {
  const { services, viewer } = context
  Object.assign(context, initContextCache(), { loaders: loadersOf(services, viewer) })
}

function loadersOf({ db, prisma, readSessions }: GraphQLServices, viewer: Viewer): Loaders {
  return createLoaders({ db, prisma, readSessions, viewer })
}
