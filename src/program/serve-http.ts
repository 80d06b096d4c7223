import { machineIdentity } from '../machine/machine-identity.ts'
import { join } from 'node:path'
import { createLogRelay } from '../events/kernel-logs.ts'
import { createChangeDetector } from '../events/change-detector.ts'
import { type AgentApi, createAgentApi } from '../gateway/agent-api.ts'
import type { Config } from './config.ts'
import { readTrustedDocuments, type TrustedDocuments } from '../graphql/transport/trusted-documents.ts'
import { findUi, pythonPath } from './bundle.ts'
import { createHttpApp } from '../http/http-app.ts'
import type { HttpServer } from '../http/http-server.ts'
import { findPythonClient } from '../http/python-client.ts'
import { findGraphiQL } from '../http/graphiql-files.ts'
import { readUiFiles, type UiFiles } from '../http/ui-files.ts'
import { readTlsPair, type TlsFiles, type TlsPair, watchTlsPair } from '../http/tls-pair.ts'
import { READ_TIMEOUT_MS } from '../domain/limits.ts'
import { createBrowserSessions } from '../rest/browser-sessions.ts'
import { createAdmission, createRates } from '../services/access/admission.ts'
import { createAgentOwnership } from '../services/agent/register-agent.ts'
import { type Authenticate, createAuthenticator } from '../services/access/authenticate.ts'
import { createMetricsPage } from '../services/render-metrics.ts'
import { type DatabaseAccess, diskWarnings, readWarnings, type RuntimeParts } from './runtime-parts.ts'
import { createPrisma, databaseOf } from '../store/prisma.ts'
import { blobDirectory } from './agent-options.ts'
import { createGateway, type ServerGateway } from '../gateway/gateway.ts'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { SERVER_URL_FILE } from '../client/node/find-server.ts'
import { messageOf } from '../observability/error-message.ts'

/** @throws Error with a message for people, if the files are not a valid pair */
export async function readTls({ tlsCertFile: certFile, tlsKeyFile: keyFile }: Config): Promise<TlsSetup | undefined> {
  if (certFile === undefined || keyFile === undefined) return undefined
  return { files: { certFile, keyFile }, pair: await readTlsPair({ certFile, keyFile }) }
}

export interface TlsSetup {
  files: TlsFiles
  pair: TlsPair
}

/** Replaces the certificate when its files change; without one, warns if other machines can connect. */
export function keepTls(
  http: HttpServer,
  tls: TlsSetup | undefined,
  { config, log, resources, warnings }: Pick<RuntimeParts, 'config' | 'log' | 'resources' | 'warnings'>,
): void {
  if (tls) {
    resources.defer(watchTlsPair(tls.files, { current: tls.pair, log, replace: (pair) => http.replaceTls(pair) }))
  } else if (!isLoopback(config.host)) {
    const advice = 'set REPRISE_TLS_CERT_FILE and REPRISE_TLS_KEY_FILE, or let a proxy on this machine do it'
    const text = `the server listens beyond this machine without TLS: tokens, secrets and output can be read on the way; ${advice}`
    warnings.push({ kind: 'transport', text })
  }
}

/** Called before anything else is started, so that a port conflict is reported at once. */
export async function listen(http: HttpServer, config: Config, resources: AsyncDisposableStack): Promise<string> {
  try {
    const url = await http.listen(config.host, config.port)
    resources.defer(() => http.close())
    return url
  } catch (error) {
    throw new Error(whyNotListening(config, error as NodeJS.ErrnoException), { cause: error })
  }
}

export async function serveHttp(parts: RuntimeParts, http: HttpServer): Promise<void> {
  const { config, secrets, code, blobs, bus, topics, wake, log, metrics, trace, access, resources } = parts
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const prisma = createPrisma({
    connectionString: access.url,
    connectionsMax: config.databaseConnections,
    ownConnections: access.pooling !== 'transaction',
    readTimeoutMs: READ_TIMEOUT_MS,
    onError,
  })
  resources.defer(() => prisma.$disconnect())
  // For requests only: the scheduler has its own connections.
  const db = databaseOf(prisma)
  resources.defer(() => db.close())
  const metricsPage = {
    render: createMetricsPage({ db, metrics, log, subscriptions: () => bus.subscribers }),
    public: config.metricsPublic,
  }
  const logRelay = createLogRelay({ db, topics, log })
  resources.defer(() => logRelay.stop())
  const changeDetector = createChangeDetector({ db, log })
  resources.defer(() => changeDetector.stop())
  const authenticate = createAuthenticator({ db, log, failures: createRates(config.failedAuthenticationsPerSecond) })
  const root = join(import.meta.dirname, '../..')
  const bundle = findUi(root)
  const ui = await readUi(parts, bundle)
  const failures = createRates(config.failedAuthenticationsPerSecond)
  const disks = {
    'the data directory': parts.dataDir,
    'uploads and copies of checkpoints': blobDirectory(config, parts.dataDir),
  }
  const app = createHttpApp({
    db,
    admission: createAdmission(config),
    secrets,
    code,
    blobs,
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
    channels: parts.channels,
    advertisedUrl: config.advertisedUrl,
    warnings: async () => readWarnings(db, [...parts.warnings, ...(await diskWarnings(disks))]),
    mounts: [
      agentApi(parts, authenticate),
      ...(ui ? [createBrowserSessions({ db, authenticate, failures, log })] : []),
    ],
    ui,
    pythonClient: await findPythonClient(pythonPath(root)),
    graphiql: bundle === undefined ? undefined : await findGraphiQL(bundle),
    strangers: createRates(config.failedAuthenticationsPerSecond),
    introspectionForStrangers: config.publicIntrospection ?? isLoopback(config.host),
    trustedDocuments: withOwn(await readTrustedDocuments(config.trustedDocuments), ui),
  })
  // Clients compare the machine with their own, to know whether programs find the same files.
  http.serve(app, { database: DATABASE_WORDS[access.pooling], ...machineIdentity() })
  // Deferred last, so that clients are disconnected before the parts that they use are stopped.
  resources.defer(() => http.close())
}

/** Adds the documents of the web UI. */
function withOwn(trusted: TrustedDocuments | undefined, ui: UiFiles | null | undefined): TrustedDocuments | undefined {
  return trusted && new Map([...trusted, ...(ui?.documents ?? [])])
}

/**
 * Returns null if the web UI is switched off, and undefined if it is missing or unreadable; the server works without
 * it.
 */
async function readUi(
  { config, log, warnings }: RuntimeParts,
  directory: string | undefined,
): Promise<UiFiles | null | undefined> {
  if (config.ui === 'off') return null
  if (directory === undefined) return undefined
  try {
    return await readUiFiles(directory)
  } catch (error) {
    log.info({ err: error }, 'the web UI cannot be read')
    warnings.push({ kind: 'interface', text: 'the web UI cannot be read, so it is not served: install it again' })
    return undefined
  }
}

/** How this server reaches its database, for people. */
const DATABASE_WORDS: Record<DatabaseAccess['pooling'], string> = {
  embedded: 'embedded',
  none: 'direct',
  session: 'through a pooler in session mode',
  transaction: 'through a pooler in transaction mode, with a direct URL beside it',
}

function agentApi(parts: RuntimeParts, authenticate: Authenticate): AgentApi {
  const { db, log, channels } = parts
  const ownership = createAgentOwnership(db)
  return createAgentApi({ gateway: serverGateway(parts), authenticate, ownership, log, channels })
}

/** Returns whether only this machine can connect to the address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** Returns the cause in words, and what to do about it. */
function whyNotListening({ host, port }: Config, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is in use: set REPRISE_PORT to another, or to 0 for a free one`
  if (code === 'EACCES') return `port ${port} needs more rights than this user has: set REPRISE_PORT to one above 1023`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `this machine has no address ${host}: set REPRISE_HOST`
  return `cannot listen on ${host}:${port}: ${message}`
}

export function serverGateway(parts: RuntimeParts): ServerGateway {
  const { db, wake, topics, lease, secrets, metrics, code, relay, outputs } = parts
  const logged = (kernelId: string) => topics.signal(`logs:${kernelId}`)
  return createGateway({ db, wake, lease, secrets, metrics, code, relay, outputs, onAgent: wake.onAgent, logged })
}

/**
 * Writes the server's URL into the data directory, for clients on this machine, and removes it at the end. If several
 * servers share the directory, the last to start wins. After a crash the file stays, with an address that does not
 * answer.
 */
export async function keepAddress(
  dataDir: string,
  url: string,
  { resources, log }: Pick<RuntimeParts, 'resources' | 'log'>,
): Promise<void> {
  const path = join(dataDir, SERVER_URL_FILE)
  const text = `${reachable(url)}\n`
  try {
    await writeFile(path, text, { mode: 0o600 })
  } catch (error) {
    // For example on a full disk: the server runs, but clients on this machine need its URL as an option.
    log.warn(
      { error: messageOf(error) },
      `${path} could not be written: clients of this machine do not find the server`,
    )
    return
  }
  resources.defer(async () => {
    const found = await readFile(path, 'utf8').catch(() => null)
    if (found === text) await rm(path, { force: true })
  })
}

/** Returns the loopback URL of a server that listens on all addresses. */
function reachable(url: string): string {
  return url.replace('://0.0.0.0:', '://127.0.0.1:').replace('://[::]:', '://[::1]:')
}
