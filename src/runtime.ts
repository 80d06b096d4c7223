import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Config } from './config.ts'
import { LEASE, type Lease } from './domain/agent/lease.ts'
import { createEventBus } from './events/bus.ts'
import { createTopics } from './events/topics.ts'
import { createWakeHub } from './events/wake-hub.ts'
import { createHttpServer } from './http/http-server.ts'
import type { Logger } from './observability/log.ts'
import { createMetrics } from './observability/metrics.ts'
import { makeDataDirectory } from './runtime/make-data-directory.ts'
import { openDatabaseServer } from './runtime/open-database-server.ts'
import type { RuntimeParts } from './runtime/runtime-parts.ts'
import { keepTls, listen, readTls, serveHttp } from './runtime/serve-http.ts'
import { openSecrets } from './runtime/open-secrets.ts'
import { startAgent } from './runtime/start-agent.ts'
import { startBackground } from './runtime/start-background.ts'
import { startRelay } from './runtime/start-relay.ts'
import { startTracing } from './runtime/start-tracing.ts'
import { ensureAdminToken, type AdminToken } from './services/access/ensure-admin-token.ts'
import { isolationWarning } from './services/access/require-isolation.ts'
import { openDatabase } from './store/database.ts'
import { migrate } from './store/postgres/migrate.ts'
import { ensureServerRole, isSuperuser } from './store/postgres/server-role.ts'

/** A running server process. */
export interface Runtime extends AsyncDisposable {
  /** URL for clients; null without the role `api`. */
  url: string | null
  adminToken: AdminToken
}

/**
 * Builds and starts a server process from its configuration. Whatever was started is stopped in reverse order, when
 * the runtime is disposed or when a later part fails to start. The process listens first, but serves only its health
 * checks until everything is started.
 * @throws the signal's reason if it aborts while waiting for other servers' migrations
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
  const tls = await readTls(config)
  const http = createHttpServer({ log, metrics, trace, drainMs: config.drainSeconds * 1000, tls: tls?.pair })
  const url = config.roles.includes('api') ? await listen(http, config, resources) : null
  if (url !== null) keepTls(http, tls, { config, log, resources })
  const dataDir = resolve(config.dataDir)
  await makeDataDirectory(dataDir)
  const access = await openDatabaseServer(config, dataDir, log, resources)
  http.note('migrating')
  const applied = await migrate(access.ownerUrl, log, { signal })
  if (access.pooling === 'embedded') await ensureServerRole(access.ownerUrl)
  http.note('starting')
  if (applied.length > 0) log.info(`migrations applied: ${applied.join(', ')}`)
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const db = openDatabase({ connectionString: access.url, connectionsMax: config.databaseConnections, onError })
  resources.defer(() => db.close())
  const secrets = await openSecrets({ config, dataDir, db, log })
  if (await isSuperuser(db)) {
    log.warn(
      'the database user of REPRISE_DATABASE_URL is a superuser: give the server one that owns its database alone',
    )
  }
  const adminToken = await ensureAdminToken(db, dataDir)
  const wake = createWakeHub()
  const topics = createTopics()
  const bus = createEventBus()
  const parts: RuntimeParts = {
    config,
    log,
    dataDir,
    resources,
    access,
    db,
    secrets,
    wake,
    topics,
    bus,
    metrics,
    trace,
    lease,
    server,
  }
  await startRelay(parts)
  await startBackground(parts)
  if (config.roles.includes('agent')) await startAgent(parts)
  if (url !== null) await serveHttp(parts, http)
  const warning = await isolationWarning(db)
  if (warning !== null) log.warn(warning)
  const kept = resources.move()
  return { url, adminToken, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Migrates the database to this version; returns the applied migrations. */
export async function migrateOnly(config: Config, log: Logger): Promise<string[]> {
  await using resources = new AsyncDisposableStack()
  const dataDir = resolve(config.dataDir)
  await makeDataDirectory(dataDir)
  const { ownerUrl } = await openDatabaseServer(config, dataDir, log, resources)
  return await migrate(ownerUrl, log)
}
