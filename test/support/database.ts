import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { openDatabase, type Database } from '../../src/store/database.ts'

export const TEMPLATE_DATABASE = 'reprise_template'
/** One clone at a time: copying files competes for the same disk. */
const CLONE_LOCK_KEY = 1
/** PostgreSQL notices the end of a connection with a delay. */
const LEFT_WITHIN_MS = 1_000
/** Deleted rows still slow down scans of whole tables. The template has less than 10 MB. */
const REUSED_BYTES_MAX = 16_000_000

export interface TestDatabase {
  connectionString: string
  db: Database
  /** Restores the state after the migrations: all other rows are deleted. No transaction may be open. */
  fresh(): Promise<void>
  /** Opens a separate connection, for a transaction that a test keeps open. */
  connect(): Promise<pg.Client>
  /** Closes `db` and releases the database for reuse; drops it if somebody is still connected. */
  close(): Promise<void>
}

/** A clean database that is not in use. */
interface Clone {
  connectionString: string
  seeds: Seeds
}

/**
 * Cleaned databases of finished test files, for the next files of this worker. Making a clone takes many times longer.
 */
const idle: Clone[] = []

/** A database for the calling test file, in the state after the migrations. */
export async function testDatabase(options: { connectionsMax?: number } = {}): Promise<TestDatabase> {
  const clone = idle.pop() ?? (await cloneTemplate())
  const { connectionString, seeds } = clone
  const db = openDatabase({ connectionString, connectionsMax: options.connectionsMax ?? 10, onError: () => {} })
  return {
    connectionString,
    db,
    fresh: () => restoreSeeds(db, seeds),
    async connect() {
      const client = new pg.Client({ connectionString })
      await client.connect()
      return client
    },
    async close() {
      await db.close()
      if (await cleaned(clone)) idle.push(clone)
      else await dropDatabase(connectionString)
    },
  }
}

async function cloneTemplate(): Promise<Clone> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await maintain(async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [CLONE_LOCK_KEY])
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE} STRATEGY FILE_COPY`)
  })
  const url = new URL(inject('postgres'))
  url.pathname = name
  const connectionString = url.href
  const db = openDatabase({ connectionString, connectionsMax: 1, onError: () => {} })
  try {
    return { connectionString, seeds: await readSeeds(db) }
  } finally {
    await db.close()
  }
}

/** Whether the next file may use it: nobody else is connected or about to be, and it has not grown too large. */
async function cleaned({ connectionString, seeds }: Clone): Promise<boolean> {
  const db = openDatabase({ connectionString, connectionsMax: 1, onError: () => {} })
  try {
    if (!(await isLeftAlone(db))) return false
    await restoreSeeds(db, seeds)
    // Statistics of deleted rows would mislead the planner.
    await db.query(FORGET_STATISTICS)
    return true
  } finally {
    await db.close()
  }
}

const FORGET_STATISTICS = `
WITH tables AS (SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')),
  forgotten AS (DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM tables))
SELECT count(pg_clear_relation_stats('public', relname)) FROM tables`

async function isLeftAlone(db: Database): Promise<boolean> {
  const deadline = performance.now() + LEFT_WITHIN_MS
  for (;;) {
    const { rows } = await db.query<{ others: number; grown: boolean }>(
      `SELECT count(*)::int AS others, pg_database_size(current_database()) > $1 AS grown FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      [REUSED_BYTES_MAX],
    )
    const { others, grown } = rows[0]!
    if (grown) return false
    if (others === 0) return true
    if (performance.now() > deadline) return false
    await sleep(10)
  }
}

function dropDatabase(connectionString: string): Promise<void> {
  const name = new URL(connectionString).pathname.slice(1)
  return maintain(async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  })
}

/** An empty database, for tests of migrations. */
export async function emptyDatabase(): Promise<{ connectionString: string; drop(): Promise<void> }> {
  const name = `empty_${randomUUID().replaceAll('-', '')}`
  await maintain((client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`))
  const url = new URL(inject('postgres'))
  url.pathname = name
  return {
    connectionString: url.href,
    drop: () => dropDatabase(url.href),
  }
}

async function maintain<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: inject('postgres') })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

interface Seeds {
  tables: string[]
  /** Rows by table, as JSON text. */
  rows: Map<string, string>
}

async function readSeeds(db: Database): Promise<Seeds> {
  const found = await db.query<{ name: string }>(
    `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'`,
  )
  const tables = found.rows.map(({ name }) => name)
  const rows = new Map<string, string>()
  for (const table of tables) {
    const answer = await db.query<{ json: string | null }>(`SELECT json_agg(t)::text AS json FROM ${table} t`)
    const json = answer.rows[0]!.json
    if (json !== null) rows.set(table, json)
  }
  return { tables, rows }
}

/** With few rows, DELETE is many times faster than TRUNCATE, which makes new files for each table and index. */
async function restoreSeeds(db: Database, seeds: Seeds): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica')
    await tx.query(seeds.tables.map((table) => `DELETE FROM ${table}`).join(';'))
    for (const [table, json] of seeds.rows) {
      await tx.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`, [json])
    }
  })
}
