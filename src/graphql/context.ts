import { initContextCache } from '@pothos/core'
import type { EventBus } from '../events/bus.ts'
import type { LogRelay } from '../events/kernel-logs.ts'
import type { ChangeDetector } from '../events/change-detector.ts'
import type { Topics, WakeHub } from '../events/wake-hub.ts'
import type { OpenSubscriptions } from '../events/open-subscriptions.ts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracer } from '../observability/trace.ts'
import type { Admission } from '../services/access/admission.ts'
import type { Authenticate } from '../services/access/authenticate.ts'
import type { RefusalLog } from '../services/access/audit.ts'
import type { BlobStore } from '../services/blob/blob-store.ts'
import type { Consistently, Reader } from '../services/consistent-reads.ts'
import type { ServiceContext, Viewer } from '../services/service-context.ts'
import type { ReadSessions } from '../services/session/read-sessions.ts'
import { createPace, type Pace } from './execution/paced-answers.ts'
import { createLoaders, type Loaders } from './loaders/loaders.ts'
import type { SelectSessions } from './loaders/session-loader.ts'

/** Services that all requests of a server share. */
export interface GraphQLServices {
  db: ServiceContext['db']
  prisma: PrismaClient
  secrets: ServiceContext['secrets']
  blobs: BlobStore
  bus: EventBus
  topics: Topics
  logRelay: LogRelay
  changeDetector: ChangeDetector
  wake: WakeHub
  authenticate: Authenticate
  log: Logger
  metrics: Metrics
  trace: Tracer
  openSubscriptions: OpenSubscriptions
  refusals: RefusalLog
  admission: Admission
  readSessions: ReadSessions
  selectSessions: SelectSessions
  consistently: Consistently
  /** Aborts when the server closes; this also ends every endless stream. */
  closing: AbortSignal
}

/** Context of one operation. A subscription keeps its context for its whole life; see `renew`. */
export interface GraphQLContext extends ServiceContext {
  services: GraphQLServices
  requestId: string
  loaders: Loaders
  /** Counts the fields of the answer, and spreads the work over turns of the event loop. */
  pace: Pace
  /** Whether the operation's token is still valid. */
  stillAuthorized: () => Promise<boolean>
  /** The transport of the operation: a WebSocket, or the HTTP request. */
  connection: object
  /** Aborts when the client has disconnected, so that the answer is no longer needed. */
  left: AbortSignal | undefined
  /** Informs the transport that a subscription was ended because its token is no longer valid. */
  revoked: () => void
}

export interface Requester {
  viewer: Viewer
  token: string
  requestId: string
  address?: string | undefined
  connection?: object
  left?: AbortSignal | undefined
  revoked?: () => void
}

/** `requester` is set if the transport has already authenticated the operation. */
export interface ServerContext {
  requester?: Requester
  /** Id of the HTTP request. */
  requestId?: string
  address?: string | undefined
}

/** Completes the context of an operation. It does so in place, because a copy for each operation costs more. */
export function fillContext(
  initial: object,
  services: GraphQLServices,
  { viewer: known, token, requestId, address, connection = {}, left, revoked = () => {} }: Requester,
): asserts initial is GraphQLContext {
  const { db, wake, metrics, secrets } = services
  const viewer: Viewer = { ...known, request: { id: requestId, address: address ?? null } }
  const context: Omit<GraphQLContext, 'log'> = Object.assign(initial, {
    ...initContextCache(),
    services,
    db,
    wake,
    metrics,
    secrets,
    viewer,
    requestId,
    loaders: loadersOf(services, viewer),
    pace: createPace(),
    stillAuthorized: async () => (await services.authenticate(token)) !== null,
    connection,
    left,
    revoked,
  })
  // Created on first use: few operations log anything.
  let log: Logger | undefined
  const get = () => (log ??= services.log.child({ requestId }))
  Object.defineProperty(context, 'log', { get, enumerable: true })
}

/** The party whose share of the database connections a query or a subscription uses. */
export function readerOf({ viewer, left }: GraphQLContext): Reader {
  return { party: viewer.tokenId, signal: left }
}

/** The party whose share of the database connections a mutation uses. */
export function writerOf({ viewer }: GraphQLContext): Reader {
  return { party: viewer.tokenId, writes: true }
}

/** Forgets everything that was loaded for earlier events of a subscription. */
export function renew(context: GraphQLContext): void {
  const { services, viewer } = context
  Object.assign(context, initContextCache(), { loaders: loadersOf(services, viewer), pace: createPace() })
}

function loadersOf({ db, prisma, readSessions }: GraphQLServices, viewer: Viewer): Loaders {
  return createLoaders({ db, prisma, readSessions, viewer })
}
