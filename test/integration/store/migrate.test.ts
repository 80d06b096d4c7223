/** Migrating a database: empty, cut off, by several servers, of a newer version. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { migrate, NewerDatabaseError } from '../../../src/store/postgres/migrate.ts'
import { driftFromSchema, migrationNames } from '../../../src/store/postgres/schema-engine.ts'
import { emptyDatabase } from '../../support/database/database.ts'

const PROGRAM = join(import.meta.dirname, '../../support/programs/migrate-program.ts')
const log = pino({ enabled: false })

let database: Awaited<ReturnType<typeof emptyDatabase>>
let client: pg.Client

beforeEach(async () => {
  database = await emptyDatabase()
  client = await connect()
})
afterEach(async () => {
  await client.end()
  await database.drop()
})

async function connect(): Promise<pg.Client> {
  const connection = new pg.Client({ connectionString: database.connectionString })
  connection.on('error', () => {})
  await connection.connect()
  return connection
}

async function history(): Promise<{ finished: string[]; rolledBack: number }> {
  const { rows } = await client.query<{ name: string; rolled: boolean }>(
    `SELECT migration_name AS name, rolled_back_at IS NOT NULL AS rolled FROM _prisma_migrations
     WHERE finished_at IS NOT NULL OR rolled_back_at IS NOT NULL ORDER BY started_at`,
  )
  return {
    finished: rows.filter(({ rolled }) => !rolled).map(({ name }) => name),
    rolledBack: rows.filter(({ rolled }) => rolled).length,
  }
}

async function waitForSessions(count: number, condition: string): Promise<void> {
  const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`
  await vi.waitUntil(async () => (await client.query(sql)).rowCount === count, { timeout: 120_000 })
}

/** A process that migrates, killed while PostgreSQL runs its migration, which `blocker` holds up. */
async function killInMigration(blocker: pg.Client): Promise<void> {
  await blocker.query('BEGIN; CREATE TABLE sessions ()')
  const child = spawn(process.execPath, [PROGRAM, database.connectionString], { stdio: 'ignore' })
  await waitForSessions(1, `wait_event_type = 'Lock'`)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

test('an empty database gets every migration, and a second run has nothing to do', async () => {
  const names = await migrationNames()
  expect(await migrate(database.connectionString, log)).toEqual(names)
  expect(await migrate(database.connectionString, log)).toEqual([])
  expect(await history()).toEqual({ finished: names, rolledBack: 0 })
})

test('the migrated database is what schema.prisma says', async () => {
  await migrate(database.connectionString, log)
  const statements = (await driftFromSchema(database.connectionString)).replace(/--.*$/gm, '').trim()
  expect(statements, 'write a migration, or mend schema.prisma').toBe('')
})

test('defaults, functions and constraints take the time from the functions of the clock', async () => {
  await migrate(database.connectionString, log)
  const { rows } = await client.query(`
    WITH texts AS (
      SELECT attrelid::regclass || '.' || attname AS place, pg_get_expr(adbin, adrelid) AS text
      FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
      WHERE adrelid::regclass::text <> '_prisma_migrations'
      UNION ALL SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    ), found AS (
      SELECT place, regexp_matches(text, '\\m(reprise_now|reprise_clock|now|\\w+_timestamp)\\(|(CURRENT_TIMESTAMP)', 'gi') AS names
      FROM texts
    ), named AS (SELECT place, lower(coalesce(names[1], names[2])) AS name FROM found)
    SELECT array_agg(place || ' ' || name ORDER BY place) FILTER (WHERE name NOT LIKE 'reprise%') AS real,
      count(*) FILTER (WHERE name = 'reprise_now')::int AS ours FROM named`)
  expect(rows[0].real).toEqual(['reprise_clock clock_timestamp', 'reprise_now now'])
  expect(rows[0].ours).toBeGreaterThan(40)
})

test('of two servers that start at once one migrates, and the other waits for it', async () => {
  const run = () => promisify(execFile)(process.execPath, [PROGRAM, database.connectionString])
  const blocker = await connect()
  await blocker.query('BEGIN; CREATE TABLE sessions ()')
  const runs = [run(), run()]
  await waitForSessions(2, `application_name = 'reprise-migrate' AND state = 'idle'`)
  await waitForSessions(1, `wait_event_type = 'Lock'`)
  await blocker.query('ROLLBACK')
  await blocker.end()
  const applied = (await Promise.all(runs)).map(({ stdout }) => JSON.parse(stdout) as string[])
  const names = await migrationNames()
  expect(applied.toSorted((a, b) => a.length - b.length)).toEqual([[], names])
  expect(await history()).toEqual({ finished: names, rolledBack: 0 })
})

test('a migration that a crash cut off is applied again', async () => {
  const blocker = await connect()
  await killInMigration(blocker)
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  await blocker.end()
  expect(await migrate(database.connectionString, log)).toEqual(await migrationNames())
  expect(await history()).toEqual({ finished: await migrationNames(), rolledBack: 1 })
})

test('a migration that PostgreSQL finishes after the death of its process counts as applied', async () => {
  // Else it ends what nobody waits for any more, within a second.
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name')
  await client.query(`ALTER DATABASE "${rows[0]!.name}" SET client_connection_check_interval = 0`)
  const blocker = await connect()
  await killInMigration(blocker)
  const next = migrate(database.connectionString, log)
  await blocker.end()
  const names = await migrationNames()
  expect(await next, 'the first is the one that was held up').toEqual(names.slice(1))
  expect(await history()).toEqual({ finished: names, rolledBack: 0 })
})

test('a database of a newer version is refused', async () => {
  await migrate(database.connectionString, log)
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
     VALUES ('1', 'x', now(), '29990101000000_future', 1)`,
  )
  await expect(migrate(database.connectionString, log)).rejects.toThrow(NewerDatabaseError)
  await expect(migrate(database.connectionString, log)).rejects.toThrow('29990101000000_future')
})
