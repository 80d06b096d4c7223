import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { openDatabase, type Database } from '../../src/store/database.ts'

export const TEMPLATE_DATABASE = 'reprise_template'
/** One clone at a time: copying files competes for the same disk. */
const CLONE_LOCK_KEY = 1

export interface TestDatabase {
  connectionString: string
  db: Database
  /** Back to how the migrations left it: all rows gone but theirs. Nobody may be in the middle of a transaction. */
  fresh(): Promise<void>
  /** A connection of its own, for a transaction that a test keeps open. */
  connect(): Promise<pg.Client>
  /** Closes `db` and drops the database, whoever is still connected. */
  close(): Promise<void>
}

/** A database of its own for the calling test file, cloned from the migrated template. */
export async function testDatabase(options: { connectionsMax?: number } = {}): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await maintain(async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [CLONE_LOCK_KEY])
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE} STRATEGY FILE_COPY`)
  })
  const url = new URL(inject('postgres'))
  url.pathname = name
  const connectionString = url.href
  const db = openDatabase({ connectionString, connectionsMax: options.connectionsMax ?? 10, onError: () => {} })
  const seeds = await readSeeds(db)
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
      await maintain((client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    },
  }
}

/** An empty database, for what migrations do. */
export async function emptyDatabase(): Promise<{ connectionString: string; drop(): Promise<void> }> {
  const name = `empty_${randomUUID().replaceAll('-', '')}`
  await maintain((client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`))
  const url = new URL(inject('postgres'))
  url.pathname = name
  return {
    connectionString: url.href,
    drop: () => maintain((client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)).then(() => {}),
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
