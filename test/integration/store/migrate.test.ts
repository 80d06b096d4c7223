/** Migrations of the database, and statements that fit the migrated schema. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { parserFor } from '../../../src/store/database.ts'
import { migrate, NewerDatabaseError } from '../../../src/store/postgres/migrate.ts'
import { driftFromSchema, migrationNames } from '../../../src/store/postgres/schema-engine.ts'
import { emptyDatabase, testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type ColumnType, fits, neverIs, readColumnTypes } from '../../support/statements/column-types.ts'
import { type Column, describeStatement } from '../../support/statements/describe-statement.ts'
import { FORMS } from '../../support/statements/forms.ts'
import { evaluateInModules, statementConstants } from '../../support/statements/module-statements.ts'
import { findQueryCalls, type QueryCall } from '../../support/statements/query-calls.ts'
import { recordForms } from '../../support/statements/record-forms.ts'

describe('migrations', () => {
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

  test('the migrated database is that of schema.prisma', async () => {
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
})

describe('statements', () => {
  let database: TestDatabase
  let client: pg.Client
  let typeOf: (column: Column, call: QueryCall) => ColumnType

  beforeAll(async () => {
    database = await testDatabase()
    client = await database.connect()
    const columnTypes = await readColumnTypes(database.db)
    typeOf = ({ oid }, { plainDriver }) => columnTypes(oid, plainDriver ? pg.types.getTypeParser : parserFor)
  })

  afterAll(async () => {
    await client.end()
    await database.close()
  })

  /** The statement of each call: a constant, or the recorded text. */
  async function readStatements(calls: readonly QueryCall[]): Promise<Map<QueryCall, ReadonlySet<string>>> {
    const constants = calls.filter(({ constant }) => constant)
    const byPath = Object.entries(Object.groupBy(constants, ({ path }) => path))
    const values = await evaluateInModules(
      new Map(byPath.map(([path, some]) => [path, new Set(some!.map(({ statement }) => statement))])),
    )
    const forms = await recordForms(FORMS)
    return new Map(
      calls.map((call) => {
        const value = call.constant ? values.get(call.path)?.get(call.statement) : undefined
        const sent = forms.get(`${call.path}:${call.line}:${call.column}`)
        return [call, typeof value === 'string' ? new Set([value]) : (sent ?? new Set())]
      }),
    )
  }

  function differences(call: QueryCall, forms: readonly Column[][]): string[] {
    // Rows that nobody reads: something must be selected or returned even so.
    if (call.row === null) return forms.some(({ length }) => length > 1) ? ['has columns that no type names'] : []
    if (call.openKeys) return ['has a row type that allows any column']
    const faults = new Set<string>()
    for (const columns of forms) {
      const names = columns.map(({ name }) => name)
      for (const name of names) if (!call.row.has(name)) faults.add(`has ${name}, which the row type has not`)
      if (new Set(names).size < names.length) faults.add(`has a column twice: ${names.join()}`)
      for (const [name, { optional }] of call.row) {
        if (!optional && !names.includes(name)) faults.add(`lacks ${name} of the row type`)
      }
    }
    for (const [name, { kinds }] of call.row) {
      const types = forms
        .flat()
        .filter((column) => column.name === name)
        .map((column) => typeOf(column, call))
      const wrong = types.find((type) => !fits(type, kinds))
      const never = neverIs(types, kinds)
      if (types.length === 0) faults.add(`lacks ${name} of the row type`)
      else if (wrong)
        faults.add(`has ${name} as ${wrong.name}, parsed ${wrong.value}, which the row type does not tell`)
      else if (never) faults.add(`never has ${name} as ${never.is}, which the row type tells`)
    }
    return [...faults]
  }

  test('each statement has the columns of its row type, with the types that the driver gives them', async () => {
    const calls = findQueryCalls()
    const statements = await readStatements(calls)
    const faults: string[] = []
    for (const [call, texts] of statements) {
      const place = `${call.path}:${call.line}`
      if (texts.size === 0) faults.push(`${place} sends what no form of test/support/statements/forms.ts has it send`)
      const described: Column[][] = []
      for (const text of texts) {
        await describeStatement(client, text).then(
          (columns) => described.push(columns),
          (error: Error) => faults.push(`${place} cannot be prepared: ${error.message}`),
        )
      }
      if (texts.size === 0 || described.length < texts.size) continue
      faults.push(...differences(call, described).map((fault) => `${place} ${fault}`))
    }
    expect(faults).toEqual([])

    const prepared = new Set([...statements.values()].flatMap((texts) => [...texts]))
    const named = await evaluateInModules(await statementConstants())
    const forgotten = [...named].flatMap(([path, values]) =>
      [...values]
        .filter(([, value]) => typeof value === 'string' && !prepared.has(value))
        .map(([name]) => `${path} ${name}`),
    )
    expect(forgotten, 'statements that no call sends').toEqual([])
    expect(calls.length).toBeGreaterThan(200)
  })
})
