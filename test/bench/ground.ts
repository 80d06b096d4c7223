import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '../../src/observability/log.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { startEmbeddedPostgres } from '../../src/store/postgres/embedded.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'

/** What a bench stands on: an embedded PostgreSQL of its own with production settings, in a temporary directory. */
export interface BenchGround extends AsyncDisposable {
  dir: string
  log: Logger
  /** A migrated database of its own, so that no part of a bench finds what another left. */
  database(): Promise<BenchDatabase>
  progress(line: string): void
  /** Aborted by SIGINT. */
  signal: AbortSignal
}

export interface BenchDatabase {
  db: Database
  connectionString: string
}

/** As many as the server opens. */
const CONNECTIONS_MAX = 16

export async function openGround(options: {
  log: Logger
  progress: (line: string) => void
  signal: AbortSignal
}): Promise<BenchGround> {
  await using resources = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'reprise-bench-'))
  resources.defer(() => rm(dir, { recursive: true, force: true }))
  const postgres = await startEmbeddedPostgres({ dataDir: dir, log: options.log })
  resources.defer(() => postgres.stop())
  const admin = openDatabase({ connectionString: postgres.connectionString, connectionsMax: 1, onError: ignore })
  resources.defer(() => admin.close())
  const kept = resources.move()
  let databases = 0
  return {
    ...options,
    dir,
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
