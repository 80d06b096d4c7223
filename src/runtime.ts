import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import packageJson from '../package.json' with { type: 'json' }
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_CONNECT_TIMEOUT_MS } from './domain/limits.ts'
import { createAgent, type Agent } from './agent/agent.ts'
import { detectSlots } from './agent/detect-slots.ts'
import { createAgentApi, type AgentApi } from './agent/api/agent-api.ts'
import { createExecutor } from './agent/create-executor.ts'
import { createGateway, type ServerGateway } from './agent/gateway.ts'
import { tracesWanted, type Config } from './config.ts'
import { createEventBus, type EventBus } from './events/bus.ts'
import { createRelay } from './events/relay.ts'
import { createTopics, type Topics } from './events/topics.ts'
import { createWakeExchange } from './events/wake-exchange.ts'
import { createWakeHub, type WakeHub } from './events/wake-hub.ts'
import { readTrustedDocuments } from './graphql/read-trusted-documents.ts'
import { createAddressGuard } from './events/webhooks/address-guard.ts'
import { resolveHost } from './events/webhooks/resolve-host.ts'
import { createWebhookSender } from './events/webhooks/send-webhook.ts'
import { createHttpApp } from './http/http-app.ts'
import { createHttpServer, type HttpServer } from './http/http-server.ts'
import { isLoopback, whyNotListening } from './http/listen-address.ts'
import type { Logger } from './observability/log.ts'
import { createMetrics, type Metrics } from './observability/metrics.ts'
import { NO_SYNC_POINTS } from './observability/sync-points.ts'
import { NO_TRACER, type Tracer } from './observability/trace.ts'
import type { BackgroundService } from './scheduler/background-service.ts'
import { createPresenceService } from './scheduler/presence-service.ts'
import { createDiscoveryService } from './scheduler/discovery-service.ts'
import { createRetentionService } from './scheduler/retention-service.ts'
import { createDeploymentServices, type DeploymentServiceName } from './scheduler/deployment-services.ts'
import { askHealth } from './scheduler/prober/ask-health.ts'
import { createSchedulerServices, isWoken } from './scheduler/scheduler.ts'
import { createWebhookServices } from './scheduler/webhook-services.ts'
import { createAgentOwnership } from './services/agent-ownership.ts'
import { createAuthenticator, type Authenticate } from './services/authenticate.ts'
import { ensureAdminToken, type AdminToken } from './services/ensure-admin-token.ts'
import { createMetricsPage } from './services/render-metrics.ts'
import { openDatabase, type Database } from './store/database.ts'
import { startEmbeddedPostgres } from './store/postgres/embedded.ts'
import { migrate } from './store/postgres/migrate.ts'
import { createPrisma } from './store/prisma.ts'
import { forgetPresence, notePresence, type ServerIdentity } from './store/sql/agent-lease.sql.ts'
import { LEASE, type Lease } from './domain/agent/lease.ts'

/** A running server process. */
export interface Runtime extends AsyncDisposable {
  /** URL for clients; null without the role `api`. */
  url: string | null
  adminToken: AdminToken
}

interface Ground {
  config: Config
  log: Logger
  dataDir: string
  resources: AsyncDisposableStack
  connectionString: string
  db: Database
  wake: WakeHub
  topics: Topics
  bus: EventBus
  metrics: Metrics
  trace: Tracer
  lease: Lease
  server: ServerIdentity
}

/**
 * Builds and starts a server process from its configuration: the one place where the parts meet. What was
 * started is stopped in reverse order, when the runtime is disposed or when a later part does not start. It listens
 * before anything else, and answers for its health alone until everything is there.
 * @throws the signal's reason, where it aborts while the start can still be left
 */
export async function startRuntime(
  config: Config,
  log: Logger,
  options: { lease?: Lease; signal?: AbortSignal } = {},
): Promise<Runtime> {
  const { lease = LEASE, signal } = options
  await using resources = new AsyncDisposableStack()
  const server = { id: uuidv7(), host: hostname(), pid: process.pid, roles: config.roles }
  const metrics = createMetrics({ process: true })
  const trace = await startTracing(config, server.id, log)
  resources.defer(() => trace.stop())
  const http = createHttpServer({ log, metrics, trace, drainMs: config.drainSeconds * 1000 })
  const url = config.roles.includes('api') ? await listen(http, config, resources) : null
  const dataDir = resolve(config.dataDir)
  await mkdir(dataDir, { recursive: true })
  const connectionString = await openDatabaseServer(config, dataDir, log, resources)
  http.note('migrating')
  const applied = await migrate(connectionString, log, signal)
  http.note('starting')
  if (applied.length > 0) log.info(`migrations applied: ${applied.join(', ')}`)
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const db = openDatabase({ connectionString, connectionsMax: config.databaseConnections, onError })
  resources.defer(() => db.close())
  const adminToken = await ensureAdminToken(db, dataDir)
  const wake = createWakeHub()
  const topics = createTopics()
  const bus = createEventBus()
  const ground: Ground = {
    config,
    log,
    dataDir,
    resources,
    connectionString,
    db,
    wake,
    topics,
    bus,
    metrics,
    trace,
    lease,
    server,
  }
  await startRelay(ground)
  if (config.roles.some((role) => role === 'api' || role === 'scheduler')) await startPresence(ground)
  if (config.roles.includes('scheduler')) {
    startScheduler(ground)
    startDeployments(ground)
    startWebhooks(ground)
    startRetention(ground)
  }
  if (config.discoveryDir !== undefined) startDiscovery(ground, resolve(config.discoveryDir))
  if (config.roles.includes('agent')) await startAgent(ground)
  if (url !== null) await serveHttp(ground, http)
  const kept = resources.move()
  return { url, adminToken, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Migrates the database to this version; returns the applied migrations. */
export async function migrateOnly(config: Config, log: Logger): Promise<string[]> {
  await using resources = new AsyncDisposableStack()
  const dataDir = resolve(config.dataDir)
  await mkdir(dataDir, { recursive: true })
  return await migrate(await openDatabaseServer(config, dataDir, log, resources), log)
}

async function openDatabaseServer(
  config: Config,
  dataDir: string,
  log: Logger,
  resources: AsyncDisposableStack,
): Promise<string> {
  if (config.databaseUrl !== undefined) return config.databaseUrl
  const embedded = await startEmbeddedPostgres({ dataDir, log })
  resources.defer(() => embedded.stop())
  if (embedded.adopted) log.info('took over the embedded database of a server that was killed')
  return embedded.connectionString
}

/** Tracing code is loaded only if traces are exported. */
async function startTracing(config: Config, instanceId: string, log: Logger): Promise<Tracer> {
  if (!tracesWanted(config)) return NO_TRACER
  const { createOtelTracer } = await import('./observability/otel-tracer.ts')
  return createOtelTracer({ version: packageJson.version, instanceId, log })
}

async function startRelay({ db, bus, log, connectionString, wake, resources }: Ground): Promise<void> {
  const relay = createRelay({ db, bus, log })
  wake.on('events', relay.wake)
  await relay.start()
  resources.defer(() => relay.stop())
  resources.defer(() => bus.close())
  const exchange = createWakeExchange({ db, hub: wake, connectionString, log })
  resources.defer(() => exchange.stop())
}

/** Before a scheduler judges agents, and for as long as this server can hear them. */
async function startPresence(ground: Ground): Promise<void> {
  const { config, db, lease, server, resources } = ground
  await notePresence(db, server, lease.outageAfterMs)
  resources.defer(() => forgetPresence(db, server.id))
  // A scheduler notes it with each look at the agents.
  if (!config.roles.includes('scheduler')) startAll(ground, [createPresenceService(ground)])
}

/** Until the end of the process, or of its start. */
function startAll({ resources }: Ground, services: readonly BackgroundService[]): void {
  resources.defer(async () => {
    await Promise.all(services.map((service) => service.stop()))
  })
  for (const service of services) service.start()
}

function startScheduler(ground: Ground): void {
  const services = createSchedulerServices({ ...ground, sync: NO_SYNC_POINTS, strides: true })
  for (const [name, service] of Object.entries(services) as [keyof typeof services, BackgroundService][]) {
    if (isWoken(name)) ground.wake.on(name, service.wake)
  }
  startAll(ground, Object.values(services))
}

function startRetention(ground: Ground): void {
  const {
    keepChains: chains,
    keepEvents: events,
    keepLogs: logs,
    keepAudit: audit,
    keepAgentHistory: agentHistory,
  } = ground.config
  const policy = { chains, events, logs, audit, agentHistory }
  startAll(ground, [createRetentionService({ ...ground, policy })])
}

function startDeployments(ground: Ground): void {
  const services = createDeploymentServices({
    ...ground,
    sync: NO_SYNC_POINTS,
    askHealth,
    watchedSince: performance.now(),
  })
  for (const [name, service] of Object.entries(services) as [DeploymentServiceName, BackgroundService][]) {
    ground.wake.on(name, service.wake)
  }
  startAll(ground, Object.values(services))
}

function startDiscovery(ground: Ground, directory: string): void {
  const service = createDiscoveryService({ ...ground, directory })
  ground.wake.on('sync-discovery', service.wake)
  startAll(ground, [service])
}

function startWebhooks(ground: Ground): void {
  const sendWebhook = createWebhookSender({
    mayConnect: createAddressGuard(ground.config.webhookAllowNetworks),
    resolveHost,
    connectTimeoutMs: WEBHOOK_CONNECT_TIMEOUT_MS,
    attemptTimeoutMs: WEBHOOK_ATTEMPT_TIMEOUT_MS,
  })
  const services = createWebhookServices({ ...ground, sync: NO_SYNC_POINTS, sendWebhook })
  ground.wake.on('deliver-webhooks', services['deliver-webhooks'].wake)
  startAll(ground, Object.values(services))
}

async function startAgent(ground: Ground): Promise<void> {
  const { config, log, dataDir, resources } = ground
  const agentDir = join(dataDir, 'agent')
  const agent: Agent = createAgent({
    gateway: serverGateway(ground),
    createExecutor: (hooks) => createExecutor(config, agentDir, log, hooks),
    agentDir,
    name: config.agentName,
    resourceGroup: config.resourceGroup,
    address: config.agentAddress,
    version: packageJson.version,
    slots: config.slots ?? detectSlots(),
    labels: config.agentLabels,
    log,
  })
  await agent.start()
  resources.defer(() => agent.stop())
  agent.done.catch((error: unknown) => log.error({ err: error }, 'the agent has stopped'))
}

function serverGateway({ db, wake, topics, lease }: Ground): ServerGateway {
  const logged = (kernelId: string) => topics.signal(`logs:${kernelId}`)
  return createGateway({ db, wake, lease, onAgent: wake.onAgent, logged })
}

function agentApi(ground: Ground, authenticate: Authenticate): AgentApi {
  const { db, log } = ground
  return createAgentApi({ gateway: serverGateway(ground), authenticate, ownership: createAgentOwnership(db), log })
}

/** So that a port conflict is reported at once. */
async function listen(http: HttpServer, config: Config, resources: AsyncDisposableStack): Promise<string> {
  try {
    const url = await http.listen(config.host, config.port)
    resources.defer(() => http.close())
    return url
  } catch (error) {
    throw new Error(whyNotListening(config, error as NodeJS.ErrnoException), { cause: error })
  }
}

async function serveHttp(ground: Ground, http: HttpServer): Promise<void> {
  const { config, db, bus, topics, wake, log, metrics, trace, connectionString, resources } = ground
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const prisma = createPrisma({ connectionString, connectionsMax: config.databaseConnections, onError })
  resources.defer(() => prisma.$disconnect())
  const metricsPage = {
    render: createMetricsPage({ db, metrics, log, subscriptions: () => bus.subscribers }),
    public: config.metricsPublic,
  }
  const authenticate = createAuthenticator({ db, log })
  const app = createHttpApp({
    db,
    authenticate,
    prisma,
    bus,
    topics,
    wake,
    log,
    metrics,
    trace,
    metricsPage,
    mounts: [agentApi(ground, authenticate)],
    introspectionForStrangers: config.publicIntrospection ?? isLoopback(config.host),
    trustedDocuments: await readTrustedDocuments(config.trustedDocuments),
  })
  http.serve(app)
  // Clients are disconnected before anything that they need is stopped.
  resources.defer(() => http.close())
}
