import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { openDatabase, type Database } from '../../../src/store/database.ts'
import { createPrisma, databaseOf, type PrismaClient } from '../../../src/store/prisma.ts'
import { RESTORE_SEEDS } from './restore-seeds.ts'
import { pause } from '../eventually.ts'

export const TEMPLATE_DATABASE = 'reprise_template'
/** One clone at a time: copying files competes for the same disk. */
const CLONE_LOCK_KEY = 1
/** PostgreSQL notices the end of a connection with a delay. */
const LEFT_WITHIN_MS = 1_000
/** Deleted rows still slow down scans of whole tables. The template has less than 10 MB. */
const REUSED_BYTES_MAX = 16_000_000
/** The application name of connections that stay open. */
const KEPT = 'kept'

export interface TestDatabase {
  connectionString: string
  db: Database
  prisma: PrismaClient
  /** Restores the state after the migrations: all other rows are deleted. No transaction may be open. */
  fresh(): Promise<void>
  /** Opens a separate connection, for a transaction that a test keeps open. */
  connect(): Promise<pg.Client>
  /** It is of no use for another file: what was changed is not among the rows. */
  spoil(): void
  /** Releases the database for reuse; drops it if somebody else is still connected, or uses a connection of it. */
  close(): Promise<void>
}

/**
 * A clean database that is not in use. Its connections stay open, with all that they have looked up and planned: to
 * open them anew for each file costs a tenth of a run.
 */
interface Clone {
  connectionString: string
  db: Database
  prisma: PrismaClient
  /** One connection, on which no trigger fires. */
  cleaner: Database
}

/**
 * Cleaned databases of finished test files, for the next files of this worker. Making a clone takes many times longer.
 */
const idle: Clone[] = []

/** A database for the calling test file, in the state after the migrations. */
export async function testDatabase(): Promise<TestDatabase> {
  const clone = idle.pop() ?? (await cloneTemplate())
  const { connectionString, db, prisma, cleaner } = clone
  let isSpoilt = false
  return {
    connectionString,
    db,
    prisma,
    fresh: () => restoreSeeds(cleaner),
    async connect() {
      const client = new pg.Client({ connectionString })
      await client.connect()
      return client
    },
    spoil: () => {
      isSpoilt = true
    },
    async close() {
      if (!isSpoilt && (await cleaned(clone))) return void idle.push(clone)
      await Promise.all([db.close(), prisma.$disconnect(), databaseOf(prisma).close(), cleaner.close()])
      await dropDatabase(connectionString)
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
  url.searchParams.set('application_name', KEPT)
  const kept = { connectionString: url.href, onError: () => {} }
  const db = openDatabase({ ...kept, connectionsMax: 10 })
  const prisma = createPrisma({ ...kept, connectionsMax: 10 })
  // Set for good: each change would discard the plans of the connection.
  url.searchParams.set('options', '-c session_replication_role=replica')
  const cleaner = openDatabase({ connectionString: url.href, connectionsMax: 1, onError: () => {} })
  return { connectionString, db, prisma, cleaner }
}

/** Whether the next file may use it: nobody else is connected or about to be, and it has not grown too large. */
async function cleaned({ cleaner }: Clone): Promise<boolean> {
  if (!(await isLeftAlone(cleaner))) return false
  await restoreSeeds(cleaner)
  // Statistics of deleted rows would mislead the planner.
  await cleaner.query(FORGET_STATISTICS)
  return true
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
       WHERE datname = current_database() AND backend_type = 'client backend'
         AND (application_name <> $2 OR state <> 'idle' AND pid <> pg_backend_pid())`,
      [REUSED_BYTES_MAX, KEPT],
    )
    const { others, grown } = rows[0]!
    if (grown) return false
    if (others === 0) return true
    if (performance.now() > deadline) return false
    await pause(10)
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

async function restoreSeeds(db: Database): Promise<void> {
  await db.query(RESTORE_SEEDS)
}
