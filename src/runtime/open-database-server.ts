import type { Config } from '../config.ts'
import type { Logger } from '../observability/log.ts'
import { startEmbeddedPostgres } from '../store/postgres/embedded.ts'

/** Returns the connection string. Without a configured server, starts the embedded one, stopped with `resources`. */
export async function openDatabaseServer(
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
