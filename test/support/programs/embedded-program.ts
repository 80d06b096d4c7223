import { createLogger } from '../../../src/observability/log.ts'
import { startEmbeddedPostgres } from '../../../src/store/postgres/embedded.ts'

/** `embedded-program.ts <data directory>`: holds an embedded PostgreSQL until SIGTERM; prints how to reach it, as JSON. */
const log = await createLogger({ level: 'warn', format: 'json' })
try {
  const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2]!, log, connectionsMax: 16 })
  const alive = setInterval(() => {}, 60_000)
  process.once('SIGTERM', () => void postgres.stop().then(() => clearInterval(alive)))
  console.log(JSON.stringify({ connectionString: postgres.connectionString, adopted: postgres.adopted }))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
