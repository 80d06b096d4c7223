import { execFile } from 'node:child_process'
import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
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
  /** A new migrated database, so that no part of a bench finds what another left. */
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
/** Migrated, and otherwise empty. */
const TEMPLATE = 'bench_template'

/**
 * The first bench of a run leaves a copy of its cluster in the directory `prepared`, with a migrated template; the others
 * begin with that copy, which saves each some seconds.
 */
export async function openGround(options: {
  dir: string
  prepared: string
  log: Logger
  progress: (line: string) => void
  signal: AbortSignal
}): Promise<BenchGround> {
  await using resources = new AsyncDisposableStack()
  const prepared = join(options.prepared, 'postgres')
  if (!(await exists(prepared))) await prepareCluster(options, prepared)
  await copy(prepared, join(options.dir, 'postgres'))
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
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`)
      const url = new URL(postgres.connectionString)
      url.pathname = name
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

/** In one step for whoever looks: a bench that is given up while it prepares leaves nothing at this path. */
async function prepareCluster({ dir, log }: { dir: string; log: Logger }, prepared: string): Promise<void> {
  const draft = join(dir, 'prepared')
  const postgres = await startEmbeddedPostgres({ dataDir: draft, log, connectionsMax: CONNECTIONS_MAX })
  try {
    const admin = openDatabase({ connectionString: postgres.connectionString, connectionsMax: 1, onError: ignore })
    await admin.query(`CREATE DATABASE ${TEMPLATE}`)
    await admin.close()
    const url = new URL(postgres.connectionString)
    url.pathname = TEMPLATE
    await migrate(url.href, log)
  } finally {
    await postgres.stop()
  }
  await rename(join(draft, 'postgres'), prepared)
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** With owners and modes, which Node does not copy. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}

function ignore(): void {}
