import { join } from 'node:path'
import { createLogRelay } from '../events/log-relay.ts'
import { createStandings } from '../events/standings.ts'
import { type AgentApi, createAgentApi } from '../gateway/agent-api.ts'
import type { Config } from './config.ts'
import { readTrustedDocuments, type TrustedDocuments } from '../graphql/transport/trusted-documents.ts'
import { findUi } from './bundle.ts'
import { createHttpApp } from '../http/http-app.ts'
import type { HttpServer } from '../http/http-server.ts'
import { findGraphiQL, readUiFiles, type UiFiles } from '../http/ui-files.ts'
import { isLoopback, whyNotListening } from '../http/listen-address.ts'
import { readTlsPair, type TlsFiles, type TlsPair, watchTlsPair } from '../http/tls-pair.ts'
import { READ_TIMEOUT_MS } from '../domain/limits.ts'
import { createBrowserSessions } from '../rest/access/browser-sessions.ts'
import { createAdmission } from '../services/access/admission.ts'
import { createAgentOwnership } from '../services/agent/agent-ownership.ts'
import { type Authenticate, createAuthenticator } from '../services/access/authenticate.ts'
import { createRates } from '../services/access/rates.ts'
import { createMetricsPage } from '../services/metrics/render-metrics.ts'
import { diskWarnings, readWarnings } from './read-warnings.ts'
import { createPrisma, databaseOf } from '../store/prisma.ts'
import type { DatabaseAccess } from './open-database-server.ts'
import type { RuntimeParts } from './runtime-parts.ts'
import { serverGateway } from './server-gateway.ts'
import { checkpointDirectory } from './agent-options.ts'

/** @throws Error for people, where the files are no pair */
export async function readTls({ tlsCertFile: certFile, tlsKeyFile: keyFile }: Config): Promise<TlsSetup | undefined> {
  if (certFile === undefined || keyFile === undefined) return undefined
  return { files: { certFile, keyFile }, pair: await readTlsPair({ certFile, keyFile }) }
}

export interface TlsSetup {
  files: TlsFiles
  pair: TlsPair
}

/** Replaces the pair when its files change; without one, warns where others can listen. */
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
  const { config, secrets, code, bus, topics, wake, log, metrics, trace, access, resources } = parts
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const prisma = createPrisma({
    connectionString: access.url,
    connectionsMax: config.databaseConnections,
    ownConnections: access.pooling !== 'transaction',
    readTimeoutMs: READ_TIMEOUT_MS,
    onError,
  })
  resources.defer(() => prisma.$disconnect())
  // Whoever asks for whatever: the scheduler has connections of its own.
  const db = databaseOf(prisma)
  resources.defer(() => db.close())
  const metricsPage = {
    render: createMetricsPage({ db, metrics, log, subscriptions: () => bus.subscribers }),
    public: config.metricsPublic,
  }
  const logRelay = createLogRelay({ db, topics, log })
  resources.defer(() => logRelay.stop())
  const standings = createStandings({ db, log })
  resources.defer(() => standings.stop())
  const authenticate = createAuthenticator({ db, log, failures: createRates(config.failedAuthenticationsPerSecond) })
  const bundle = findUi(join(import.meta.dirname, '../..'))
  const ui = await readUi(parts, bundle)
  const failures = createRates(config.failedAuthenticationsPerSecond)
  const disks = {
    'the data directory': parts.dataDir,
    'uploads and copies of checkpoints': checkpointDirectory(config, parts.dataDir),
  }
  const app = createHttpApp({
    db,
    admission: createAdmission(config),
    secrets,
    code,
    authenticate,
    prisma,
    bus,
    topics,
    logRelay,
    standings,
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
    graphiql: bundle === undefined ? undefined : await findGraphiQL(bundle),
    strangers: createRates(config.failedAuthenticationsPerSecond),
    introspectionForStrangers: config.publicIntrospection ?? isLoopback(config.host),
    trustedDocuments: withOwn(await readTrustedDocuments(config.trustedDocuments), ui),
  })
  http.serve(app, { database: DATABASE_WORDS[access.pooling] })
  // Deferred last: clients are disconnected before anything that they need is stopped.
  resources.defer(() => http.close())
}

/** Those of the web UI are trusted, too. */
function withOwn(trusted: TrustedDocuments | undefined, ui: UiFiles | null | undefined): TrustedDocuments | undefined {
  return trusted && new Map([...trusted, ...(ui?.documents ?? [])])
}

/** Null if it is switched off, undefined if it is not there: the server does all else without it. */
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

/** For people: what lies between this server and its database. */
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
