import { type Logger, pino } from 'pino'
import { createAgentApi } from '../../../src/gateway/agent-api.ts'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { createEventBus } from '../../../src/events/bus.ts'
import { createRelay } from '../../../src/events/relay.ts'
import { createLogRelay } from '../../../src/events/kernel-logs.ts'
import { createChangeDetector } from '../../../src/events/change-detector.ts'
import { createTopics, createWakeHub } from '../../../src/events/wake-hub.ts'
import type { GraphQLDependencies } from '../../../src/graphql/graphql.ts'
import { createHttpApp } from '../../../src/http/http-app.ts'
import { createHttpServer } from '../../../src/http/http-server.ts'
import type { GraphiQL } from '../../../src/http/graphiql-files.ts'
import type { UiFiles } from '../../../src/http/ui-files.ts'
import type { RequestLimits } from '../../../src/http/request-limits.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { NO_TRACER } from '../../../src/observability/trace.ts'
import { createAgentOwnership } from '../../../src/services/agent/register-agent.ts'
import { createBrowserSessions } from '../../../src/rest/browser-sessions.ts'
import { type AdmissionLimits, createAdmission, createRates } from '../../../src/services/access/admission.ts'
import { createAuthenticator } from '../../../src/services/access/authenticate.ts'
import { createMetricsPage } from '../../../src/services/render-metrics.ts'
import { databaseOf } from '../../../src/store/prisma.ts'
import { testDatabase } from '../database/database.ts'
import { createFactories } from '../sessions/factories.ts'
import { TEST_SECRETS } from './test-secrets.ts'
import type { CheckpointStore } from '../../../src/services/agent/relay-checkpoint.ts'
import type { CodeStore } from '../../../src/services/code/code-store.ts'
import { TEST_BLOBS, TEST_CODE, TEST_OUTPUTS, TEST_RELAY } from './test-code.ts'

export interface Answer {
  status: number
  // Tests know the shape of the answers to their queries.
  data: any
  errors?: { message: string; path?: (string | number)[]; extensions: Record<string, any> }[]
}

/** The API over real HTTP with its own database. Nothing drives sessions. */
export async function startGraphQLServer(
  options: {
    log?: Logger
    metricsPublic?: boolean
    requestLimits?: RequestLimits
    admission?: AdmissionLimits
    failedAuthenticationsPerSecond?: number
    code?: CodeStore
    relay?: CheckpointStore
    ui?: UiFiles | null
    graphiql?: GraphiQL | undefined
  } & Pick<GraphQLDependencies, 'introspectionForStrangers' | 'strangers' | 'trustedDocuments' | 'webSockets'> = {},
) {
  const { log = pino({ enabled: false }), introspectionForStrangers = true, trustedDocuments, webSockets } = options
  const database = await testDatabase()
  const { db, prisma } = database
  const reads = databaseOf(prisma)
  const factory = createFactories(db)
  const bus = createEventBus()
  const topics = createTopics()
  const logRelay = createLogRelay({ db: reads, topics, log })
  const changeDetector = createChangeDetector({ db: reads, log, intervalMs: 50 })
  const wake = createWakeHub()
  const relay = createRelay({ db, bus, log, settle: async () => {}, pollIntervalMs: 50 })
  wake.on('events', relay.wake)
  await relay.start()
  const metrics = createMetrics()
  const render = createMetricsPage({ db: reads, metrics, log, subscriptions: () => bus.subscribers })
  const metricsPage = { render, public: options.metricsPublic ?? false }
  const authenticate = createAuthenticator({
    db: reads,
    log,
    failures: createRates(options.failedAuthenticationsPerSecond ?? 0),
  })
  const failures = createRates(options.failedAuthenticationsPerSecond ?? 0)
  const agentApi = createAgentApi({
    gateway: createGateway({
      db,
      wake,
      secrets: TEST_SECRETS,
      metrics,
      code: options.code ?? TEST_CODE,
      relay: options.relay ?? TEST_RELAY,
      outputs: TEST_OUTPUTS,
      onAgent: wake.onAgent,
      logged: () => {},
    }),
    authenticate,
    ownership: createAgentOwnership(db),
    log,
  })
  const trace = NO_TRACER
  const server = createHttpServer({
    log,
    metrics,
    trace,
    ...(options.requestLimits && { requestLimits: options.requestLimits }),
  })
  const app = createHttpApp({
    db: reads,
    admission: createAdmission(options.admission),
    secrets: TEST_SECRETS,
    code: options.code ?? TEST_CODE,
    blobs: TEST_BLOBS,
    authenticate,
    prisma,
    bus,
    topics,
    logRelay,
    changeDetector,
    wake,
    log,
    metrics,
    trace,
    metricsPage,
    introspectionForStrangers,
    strangers: options.strangers,
    mounts: [agentApi, ...(options.ui ? [createBrowserSessions({ db: reads, authenticate, failures, log })] : [])],
    trustedDocuments,
    ui: options.ui,
    graphiql: options.graphiql,
    ...(webSockets && { webSockets }),
  })
  server.serve(app)
  const url = await server.listen('127.0.0.1', 0)
  const adminToken = await factory.token({ role: 'ADMIN' })

  async function query(text: string, variables: object = {}, token: string | null = adminToken): Promise<Answer> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query: text, variables }),
    })
    return { status: response.status, ...((await response.json()) as Omit<Answer, 'status'>) }
  }

  return {
    url,
    database,
    db,
    factory,
    prisma,
    bus,
    topics,
    wake,
    metrics,
    relay,
    server,
    adminToken,
    query,
    async close() {
      await server.close()
      await changeDetector.stop()
      await relay.stop()
      bus.close()
      await database.close()
    },
  }
}

export type TestServer = Awaited<ReturnType<typeof startGraphQLServer>>
