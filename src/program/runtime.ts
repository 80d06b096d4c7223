import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { newId } from '../store/new-id.ts'
import { type Config, ConfigurationError } from './config.ts'
import { LEASE, type Lease } from '../domain/agent/lease.ts'
import type { Warning } from '../domain/warning.ts'
import { createEventBus } from '../events/bus.ts'
import { createTopics, createWakeHub } from '../events/wake-hub.ts'
import { createHttpServer, type HttpServer } from '../http/http-server.ts'
import { REQUEST_LIMITS } from '../http/request-limits.ts'
import type { Logger } from '../observability/log.ts'
import { messageOf } from '../observability/error-message.ts'
import { createMetrics } from '../observability/metrics.ts'
import { keepAddress, keepTls, listen, readTls, serveHttp, serverGateway } from './serve-http.ts'
import { openBlobs, openDatabaseServer, readWarnings, type RuntimeParts } from './runtime-parts.ts'
import { startBackground } from './start-background.ts'
import { dialFrom } from '../agent/dial-channel.ts'
import { createChannelHolders } from '../channel/channel-holders.ts'
import { type AdminToken, ensureAdminToken } from '../services/access/tokens.ts'
import { isDatabaseOutage, isDiskFull, isUnreachable } from '../services/database-outage.ts'
import { type Database, openDatabase } from '../store/database.ts'
import { migrate } from '../store/postgres/migrate.ts'
import { ensureServerRole } from '../store/postgres/pooling.ts'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { sealPlainWebhooks } from '../services/webhook/webhook-secrets.ts'
import { assertSharedKey, readSecretsKey, type SecretBox } from '../services/access/secrets.ts'
import { wait } from '../waiting/wait.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { agentOptions, checkpointDirectory, startPatiently } from './agent-options.ts'
import { createAgent } from '../agent/agent.ts'
import { createRelay } from '../events/relay.ts'
import { createWakeExchange } from '../events/wake-exchange.ts'
import { isUnsettled, settleOutboxOf } from '../store/postgres/outbox-era.ts'
import { NO_TRACER, type Tracer } from '../observability/trace.ts'

const WRITABLE_BY_ALL = 0o002

/** A running server process. */
export interface Runtime extends AsyncDisposable {
  /** URL for clients; null without the role `api`. */
  url: string | null
  adminToken: AdminToken
}

/**
 * Builds and starts a server process from its configuration. Started parts are stopped in reverse order, when the
 * runtime is disposed or when a later part fails to start. The process listens first, but serves only its health
 * checks until everything is started.
 * @throws the signal's reason if it aborts while waiting for other servers' migrations
 */
export async function startRuntime(
  config: Config,
  log: Logger,
  options: { lease?: Lease; signal?: AbortSignal; newAdminToken?: boolean; warnings?: readonly Warning[] } = {},
): Promise<Runtime> {
  const { lease = LEASE, signal, newAdminToken = false } = options
  // The given warnings were logged when the configuration was read.
  const known = options.warnings ?? []
  const warnings = [...known]
  await using resources = new AsyncDisposableStack()
  const server = { id: newId(), host: hostname(), pid: process.pid, roles: config.roles }
  const metrics = createMetrics({ process: true })
  const trace = await startTracing(config, server.id, log)
  resources.defer(() => trace.stop())
  const tls = await readTls(config)
  const http = createHttpServer({
    log,
    metrics,
    trace,
    drainMs: config.drainSeconds * 1000,
    requestLimits: { ...REQUEST_LIMITS, strangerStalledAfterMs: config.slowReaderSeconds * 1000 },
    tls: tls?.pair,
  })
  const url = config.roles.includes('api') ? await listen(http, config, resources) : null
  if (url !== null) keepTls(http, tls, { config, log, resources, warnings })
  const dataDir = resolve(config.dataDir)
  const retrying = { log, signal }
  await retryOutages(() => makeDataDirectory(dataDir), retrying)
  const access = await retryOutages(() => openDatabaseServer(config, dataDir, log, resources), {
    ...retrying,
    // The address may be wrong, because it has never answered.
    isFinal: isUnreachable,
  })
  const given = { config, log, dataDir, access, metrics, trace, lease, server, http, url, signal, newAdminToken }
  const made = { adminToken: false }
  const started = await retryOutages(async () => {
    await using parts = new AsyncDisposableStack()
    const adminToken = await startParts({ ...given, made, warnings, known, resources: parts })
    return { adminToken, parts: parts.move() }
  }, retrying)
  resources.use(started.parts)
  const kept = resources.move()
  const adminToken = { ...started.adminToken, created: made.adminToken }
  return { url, adminToken, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

interface StartOptions extends Pick<
  RuntimeParts,
  'config' | 'log' | 'dataDir' | 'access' | 'metrics' | 'trace' | 'lease' | 'server' | 'resources' | 'warnings'
> {
  /** Warnings that have been logged. */
  known: readonly Warning[]
  http: HttpServer
  url: string | null
  signal: AbortSignal | undefined
  newAdminToken: boolean
  /** Records what earlier tries of this start have created. */
  made: { adminToken: boolean }
}

/** Starts all parts that need the database. `resources` has the started parts, even if a later one fails. */
async function startParts(options: StartOptions): Promise<AdminToken> {
  const { config, log, dataDir, access, metrics, trace, lease, server, resources, warnings } = options
  const { http, url, signal, newAdminToken } = options
  http.note('migrating')
  const applied = await migrate(access.ownerUrl, log, { signal })
  if (access.pooling === 'embedded') await ensureServerRole(access.ownerUrl)
  http.note('starting')
  if (applied.length > 0) log.info(`migrations applied: ${applied.join(', ')}`)
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const db = openDatabase({
    connectionString: access.url,
    connectionsMax: config.databaseConnections,
    onError,
    keepsPlans: access.pooling !== 'transaction',
  })
  resources.defer(() => db.close())
  const secrets = await openSecrets({ config, dataDir, db, log })
  const policy = access.pooling === 'embedded' ? 'one-per-directory' : 'one-per-database'
  const adminToken = await ensureAdminToken(db, dataDir, newAdminToken && !options.made.adminToken ? 'replace' : policy)
  options.made.adminToken ||= adminToken.created
  const wake = createWakeHub()
  const topics = createTopics()
  const bus = createEventBus()
  const blobs = await openBlobs(config, dataDir)
  const oldDirectory = checkpointDirectory(config, dataDir)
  const parts: RuntimeParts = {
    config,
    log,
    dataDir,
    resources,
    access,
    db,
    secrets,
    blobs,
    code: {
      blobs,
      oldDirectory,
      bytesMax: config.uploadBytesMax,
      projectBytesMax: config.uploadProjectBytesMax,
    },
    relay: { blobs, oldDirectory, bytesMax: config.checkpointRelayMax },
    outputs: { bytesMax: config.outputBytesMax, keepDays: daysOf(config.keepOutputs) },
    wake,
    topics,
    bus,
    metrics,
    trace,
    lease,
    server,
    channels: createChannelHolders(),
    warnings,
  }
  await startRelay(parts)
  await startBackground(parts)
  if (config.roles.includes('agent')) await startAgent(parts)
  const found = await readWarnings(db, warnings)
  const read = new Set(warnings)
  // Nothing below can fail because of the database: once serving, the server serves until the stop.
  if (url !== null) {
    await serveHttp(parts, http)
    await keepAddress(dataDir, url, parts)
  }
  const later = warnings.filter((warning) => !read.has(warning)).map(({ text }) => text)
  const logged = new Set(options.known.map(({ text }) => text))
  for (const warning of [...found, ...later]) if (!logged.has(warning)) log.warn(warning)
  return adminToken
}

function daysOf({ ageSeconds }: Config['keepOutputs']): number | null {
  return ageSeconds === null ? null : ageSeconds / 86_400
}

const RETRY_PAUSE_MIN_MS = 200
const RETRY_PAUSE_MAX_MS = 2_000

/**
 * Repeats `work` with growing pauses while the database breaks off or a disk is full. Each step of the start may be
 * repeated.
 *
 * @throws the signal's reason if it aborts meanwhile
 */
async function retryOutages<T>(
  work: () => Promise<T>,
  options: { log: Logger; signal: AbortSignal | undefined; isFinal?: (error: unknown) => boolean },
): Promise<T> {
  const { log, signal, isFinal = () => false } = options
  for (let failures = 0; ; failures++) {
    try {
      return await work()
    } catch (error) {
      const isFull = isDiskFull(error)
      if (!(isFull || isDatabaseOutage(error)) || isFinal(error)) throw error
      signal?.throwIfAborted()
      const againInMs = Math.min(RETRY_PAUSE_MAX_MS, RETRY_PAUSE_MIN_MS * 2 ** Math.min(failures, 10))
      const what = isFull ? 'a disk is full' : 'the database broke off during the start'
      log.warn({ err: error, againInMs }, `${what}; trying again: ${messageOf(error)}`)
      await wait(againInMs, signal && { signal })
      signal?.throwIfAborted()
    }
  }
}

/** Migrates the database to this version; returns the applied migrations. */
export async function migrateOnly(config: Config, log: Logger): Promise<string[]> {
  await using resources = new AsyncDisposableStack()
  const dataDir = resolve(config.dataDir)
  await makeDataDirectory(dataDir)
  const { ownerUrl } = await retryOutages(() => openDatabaseServer(config, dataDir, log, resources), {
    log,
    signal: undefined,
    isFinal: isUnreachable,
  })
  return await retryOutages(() => migrate(ownerUrl, log), { log, signal: undefined })
}

/**
 * Makes the data directory, accessible only to this user. If that is root, other users may traverse but not list it:
 * the embedded database runs as another user, and kernels may do so.
 *
 * @throws ConfigurationError for a directory such as `/tmp`, whose mode the server must not change
 */
async function makeDataDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const own = process.getuid?.()
  if (own === undefined) return
  const { uid, mode } = await stat(path)
  if ((mode & WRITABLE_BY_ALL) !== 0) {
    throw new ConfigurationError([
      `REPRISE_DATA_DIR: everybody may write to ${path}; name a directory of the server's own, such as ${path}/reprise`,
    ])
  }
  const wanted = own === 0 ? 0o711 : 0o700
  if (uid === own && (mode & 0o777) !== wanted) await chmod(path, wanted)
}

/**
 * Opens the key that encrypts secrets, and checks that all servers of the database use the same.
 *
 * @throws Error with a message for people
 */
async function openSecrets(options: {
  config: Config
  dataDir: string
  db: Database
  log: Logger
}): Promise<SecretBox> {
  const { config, dataDir, db, log } = options
  const box = await readSecretsKey({ file: config.secretsKeyFile, dataDir })
  await assertSharedKey(db, box)
  const sealed = await sealPlainWebhooks(db, box)
  if (sealed > 0) log.info(`the secrets of ${sealed} webhooks are encrypted now`)
  return box
}

/** Starts the embedded agent. Returns once it runs or has to wait: the server starts without it. */
async function startAgent(parts: RuntimeParts): Promise<void> {
  const { config, log, resources } = parts
  const stopping = new AbortController()
  const start = async () => {
    const { warnings = [], ...options } = await agentOptions(config, packageJson.version, log)
    // An earlier try may have added the same warnings.
    const known = new Set(parts.warnings.map(({ text }) => text))
    parts.warnings.push(...warnings.filter(({ text }) => !known.has(text)))
    const agent = createAgent({
      ...options,
      warnings,
      gateway: serverGateway(parts),
      dial: dialFrom(parts.channels),
    })
    await agent.start()
    agent.done.catch((error: unknown) => log.error({ err: error }, 'the agent has stopped'))
    return agent
  }
  const waiting = Promise.withResolvers<void>()
  const starting = startPatiently(start, { log, signal: stopping.signal, waits: waiting.resolve })
  resources.defer(async () => {
    stopping.abort()
    await (await starting.catch(() => null))?.stop()
  })
  await Promise.race([starting, waiting.promise])
  starting.catch((error: unknown) => log.error({ err: error }, 'the agent has not started'))
}

/** Starts relaying events from the outbox to the bus, and exchanging wake-ups with other servers. */
async function startRelay({ db, bus, log, access, wake, resources }: RuntimeParts): Promise<void> {
  const settle = async () => {
    if (await isUnsettled(db)) await settleOutboxOf(access.ownerUrl, log)
  }
  const relay = createRelay({ db, bus, log, settle })
  wake.on('events', relay.wake)
  await relay.start()
  resources.defer(() => relay.stop())
  resources.defer(() => bus.close())
  const exchange = createWakeExchange({ db, hub: wake, connectionString: access.directUrl, log })
  resources.defer(() => exchange.stop())
}

/** Tracing code is loaded only if traces are exported. */
async function startTracing(config: Config, instanceId: string, log: Logger): Promise<Tracer> {
  if (!tracesWanted(config)) return NO_TRACER
  const { createOtelTracer } = await import('../observability/otel-tracer.ts')
  return createOtelTracer({ version: packageJson.version, instanceId, log })
}

function tracesWanted({ tracesExporter, tracesEndpoint, tracesOwnEndpoint, tracesDisabled }: Config): boolean {
  if (tracesDisabled) return false
  return (tracesExporter ?? ((tracesEndpoint ?? tracesOwnEndpoint) ? 'otlp' : 'none')) === 'otlp'
}
