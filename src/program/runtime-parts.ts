import { type Config, ConfigurationError } from './config.ts'
import type { Lease } from '../domain/agent/lease.ts'
import { type Warning, warningsOf } from '../domain/warning.ts'
import type { EventBus } from '../events/bus.ts'
import type { Topics, WakeHub } from '../events/wake-hub.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracer } from '../observability/trace.ts'
import type { CheckpointStore } from '../services/agent/relay-checkpoint.ts'
import type { OutputLimits } from '../services/agent/receive-outputs.ts'
import type { BlobStore } from '../services/blob/blob-store.ts'
import type { CodeStore } from '../services/code/code-store.ts'
import type { ChannelHolders } from '../channel/channel-holders.ts'
import type { SecretBox } from '../services/access/secrets.ts'
import type { Database, Queryable } from '../store/database.ts'
import { readWarningFacts, type ServerIdentity } from '../store/sql/server.sql.ts'
import { processFaults } from '../observability/process-events.ts'
import { startEmbeddedPostgres } from '../store/postgres/embedded.ts'
import { isSameDatabase, type Pooling, poolingOf } from '../store/postgres/pooling.ts'
import { constants } from 'node:fs'
import { access, mkdir, statfs } from 'node:fs/promises'
import { createDirectoryBlobStore } from '../services/blob/directory-blob-store.ts'
import { isDiskFull } from '../services/database-outage.ts'
import { blobDirectory } from './agent-options.ts'
import { DISK_LOW_BYTES } from '../domain/limits.ts'

/** Shared by all parts of one server process. */
export interface RuntimeParts {
  config: Config
  log: Logger
  dataDir: string
  resources: AsyncDisposableStack
  access: DatabaseAccess
  db: Database
  secrets: SecretBox
  blobs: BlobStore
  code: CodeStore
  relay: CheckpointStore
  outputs: OutputLimits
  wake: WakeHub
  topics: Topics
  bus: EventBus
  metrics: Metrics
  trace: Tracer
  lease: Lease
  server: ServerIdentity
  channels: ChannelHolders
  /** Warnings of this process; those from the database are added when they are shown. */
  warnings: Warning[]
}

/** How to reach the database. */
export interface DatabaseAccess {
  /** URL for statements and transactions. */
  url: string
  /** URL for dedicated connections: notifications. */
  directUrl: string
  /**
   * URL for migrations, as the owner of the schema. With the embedded database, the owner also creates the role that
   * the other URLs use.
   */
  ownerUrl: string
  /** The kind of connection pooler behind `url`, if any. */
  pooling: 'embedded' | Pooling
}

/**
 * Finds the configured database server. If none is configured, starts the embedded one, which is stopped with
 * `resources`.
 *
 * @throws ConfigurationError if the configured server cannot be used
 */
export async function openDatabaseServer(
  config: Config,
  dataDir: string,
  log: Logger,
  resources: AsyncDisposableStack,
): Promise<DatabaseAccess> {
  if (config.databaseUrl !== undefined) return configured(config.databaseUrl, config.databaseDirectUrl)
  const embedded = await startEmbeddedPostgres({ dataDir, log, connectionsMax: config.databaseConnections })
  processFaults.embeddedDatabase = embedded.directory
  resources.defer(async () => {
    processFaults.embeddedDatabase = null
    await embedded.stop()
  })
  if (embedded.adopted) log.info('took over the embedded database of a server that was killed')
  const { connectionString: ownerUrl, serverConnectionString: url } = embedded
  return { url, directUrl: url, ownerUrl, pooling: 'embedded' }
}

async function configured(url: string, directUrl: string = url): Promise<DatabaseAccess> {
  const pooling = await poolingOf(url)
  if ((directUrl === url ? pooling : await poolingOf(directUrl)) === 'transaction') {
    const variable = directUrl === url ? 'REPRISE_DATABASE_URL' : 'REPRISE_DATABASE_DIRECT_URL'
    throw new ConfigurationError([
      `${variable} leads through a connection pooler in transaction mode: name the database itself in ` +
        'REPRISE_DATABASE_DIRECT_URL, or set the pooler to session mode (pool_mode of PgBouncer)',
    ])
  }
  if (directUrl !== url && !(await isSameDatabase(url, directUrl))) {
    throw new ConfigurationError(['REPRISE_DATABASE_DIRECT_URL: must name the database of REPRISE_DATABASE_URL'])
  }
  return { url, directUrl, ownerUrl: directUrl, pooling }
}

/** Returns all present warnings of a server. @param own warnings of its process */
export async function readWarnings(db: Queryable, own: readonly Warning[]): Promise<string[]> {
  return warningsOf(await readWarningFacts(db), own)
}

/**
 * Opens the store of blobs.
 *
 * @throws ConfigurationError
 */
export async function openBlobs(config: Config, dataDir: string): Promise<BlobStore> {
  if (config.blobUrl !== undefined) {
    const { hostname: bucket, pathname } = new URL(config.blobUrl)
    const { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, s3Region: region } = config
    if (accessKeyId === undefined || secretAccessKey === undefined)
      throw new ConfigurationError(['REPRISE_BLOB_URL: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are missing'])
    const { createS3BlobStore } = await import('../services/blob/s3-blob-store.ts')
    return createS3BlobStore({
      bucket,
      prefix: pathname.replaceAll(/^\/+|\/+$/g, ''),
      endpoint: config.s3Endpoint ?? `https://s3.${region}.amazonaws.com`,
      linkEndpoint: config.s3LinkEndpoint,
      region,
      accessKeyId,
      secretAccessKey,
      sessionToken: config.s3SessionToken,
    })
  }
  const directory = blobDirectory(config, dataDir)
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    if (isDiskFull(error)) throw error
    const name = config.blobDir === undefined ? 'REPRISE_CHECKPOINT_DIR' : 'REPRISE_BLOB_DIR'
    throw new ConfigurationError([`${name}: ${(error as Error).message}`])
  }
  return createDirectoryBlobStore({ directory })
}

/** @param directories by a name for people; anyone may read warnings, so the names must not be paths */
export async function diskWarnings(directories: Readonly<Record<string, string>>): Promise<Warning[]> {
  const full: string[] = []
  for (const [name, directory] of Object.entries(directories)) {
    const found = await statfs(directory).catch(() => null)
    if (found !== null && found.bavail * found.bsize < DISK_LOW_BYTES) full.push(name)
  }
  if (full.length === 0) return []
  const text = `the disk of ${full.join(' and ')} is full, and what has to be written there fails: free some space, and all goes on by itself`
  return [{ kind: 'disk', text }]
}
