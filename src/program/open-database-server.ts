import { ConfigurationError, type Config } from './config.ts'
import type { Logger } from '../observability/log.ts'
import { processFaults } from '../observability/process-events.ts'
import { startEmbeddedPostgres } from '../store/postgres/embedded.ts'
import { isSameDatabase, poolingOf, type Pooling } from '../store/postgres/pooling.ts'

/** How to reach the database. */
export interface DatabaseAccess {
  /** URL for statements and transactions. */
  url: string
  /** URL for dedicated connections: notifications. */
  directUrl: string
  /** URL for migrations, as the owner of the schema. The embedded database creates the role of the others from it. */
  ownerUrl: string
  /** The kind of connection pooler behind `url`, if any. */
  pooling: 'embedded' | Pooling
}

/**
 * Without a configured server, starts the embedded one, stopped with `resources`.
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
