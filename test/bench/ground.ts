import type { Logger } from '../../src/observability/log.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { startEmbeddedPostgres } from '../../src/store/postgres/embedded.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'

/** An embedded PostgreSQL with production settings in `dir`, for one bench. */
export interface BenchGround extends AsyncDisposable {
  dir: string
  /** Its version. */
  postgresql: string
  log: Logger
  /** A migrated database of its own, so that no part of a bench finds what another left. */
  database(): Promise<BenchDatabase>
  progress(line: string): void
  /** Aborted when the bench has to end before it is done. */
  signal: AbortSignal
}

export interface BenchDatabase {
  db: Database
  connectionString: string
}

/** As many as the server opens. */
const CONNECTIONS_MAX = 16

export async function openGround(options: {
  dir: string
  log: Logger
  progress: (line: string) => void
  signal: AbortSignal
}): Promise<BenchGround> {
  await using resources = new AsyncDisposableStack()
  const postgres = await startEmbeddedPostgres({
    dataDir: options.dir,
    log: options.log,
    connectionsMax: CONNECTIONS_MAX,
  })
  resources.defer(() => postgres.stop())
  const admin = openDatabase({ connectionString: postgres.connectionString, connectionsMax: 1, onError: ignore })
  resources.defer(() => admin.close())
  const { rows } = await admin.query<{ version: string }>(`SELECT current_setting('server_version') AS version`)
  const kept = resources.move()
  let databases = 0
  return {
    ...options,
    postgresql: rows[0]!.version,
    async database() {
      options.signal.throwIfAborted()
      const name = `bench_${++databases}`
      await admin.query(`CREATE DATABASE ${name}`)
      const url = new URL(postgres.connectionString)
      url.pathname = name
      await migrate(url.href, options.log)
      const db = openDatabase({
        connectionString: url.href,
        connectionsMax: CONNECTIONS_MAX,
        onError: ignore,
        // A past of a million sessions is made by statements that take minutes.
        patience: { connectMs: 600_000, queryMs: 600_000 },
      })
      let closed: Promise<void> | undefined
      const close = () => (closed ??= db.close())
      kept.defer(close)
      return { db: { ...db, close }, connectionString: url.href }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

function ignore(): void {}
