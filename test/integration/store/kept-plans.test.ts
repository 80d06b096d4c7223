/** Statements whose plans are kept: prepared by name on each connection, planned anew when tables have grown. */
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Database, keepsPlan, keepsPlanIfUsual, openDatabase } from '../../../src/store/database.ts'
import { createPrisma, databaseOf, readTogether } from '../../../src/store/prisma.ts'
import { recordAllQueries } from '../../support/database/record-statements.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'

const MARKED = keepsPlan(
  `SELECT s.key FROM settings s JOIN settings o USING (key) WHERE s.key = ANY($1::text[]) -- marked`,
)
const PREPARED = `SELECT statement, generic_plans::int AS generic FROM pg_prepared_statements WHERE statement LIKE '%-- marked'`

let database: TestDatabase
const opened: Database[] = []

beforeAll(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  vi.useRealTimers()
  for (const db of opened.splice(0)) await db.close()
})
afterAll(() => database.close())

/** All statements use one connection. */
function open(keepsPlans?: boolean): Database {
  const { connectionString } = database
  const db = openDatabase({
    connectionString,
    connectionsMax: 1,
    onError: () => {},
    ...(keepsPlans === false && { keepsPlans }),
  })
  opened.push(db)
  return db
}

test('a marked statement is planned for its values five times, and then once for all, also in transactions', async () => {
  const db = open()
  for (let run = 0; run < 4; run++) await db.query(MARKED, [[String(run)]])
  for (let run = 0; run < 3; run++) await db.transaction((tx) => tx.query(MARKED, [['a', 'b', String(run)]]))
  expect((await db.query(PREPARED)).rows).toEqual([{ statement: MARKED, generic: 2 }])
  await db.query('SELECT s.key FROM settings s WHERE s.key = $1', ['unmarked'])
  expect((await db.query('SELECT count(*)::int AS n FROM pg_prepared_statements')).rows).toEqual([{ n: 1 }])
})

test('the connections of the API keep plans, too, in snapshots and in transactions', async () => {
  const { connectionString } = database
  const prisma = createPrisma({ connectionString, connectionsMax: 1, onError: () => {} })
  onTestFinished(() => prisma.$disconnect())
  const db = databaseOf(prisma)
  for (let run = 0; run < 5; run++) await db.query(MARKED, [[String(run)]])
  await readTogether(prisma, () => db.query(MARKED, [['a']]))
  await db.transaction((tx) => tx.query(MARKED, [['b']]))
  await db.queryWithin(1_000, MARKED, [['c']])
  expect((await db.query(PREPARED)).rows).toEqual([{ statement: MARKED, generic: 3 }])
  await db.close()
})

test('of built statements only those are prepared that are used often, and not too many', async () => {
  const db = open()
  const prepared = async (mark: string) => {
    const statement = 'SELECT count(*)::int AS n FROM pg_prepared_statements WHERE statement LIKE $1'
    return (await db.query<{ n: number }>(statement, [`%-- ${mark}%`])).rows[0]!.n
  }
  const use = async (text: string, times: number) => {
    for (let run = 0; run < times; run++) await db.query(keepsPlanIfUsual(text))
  }
  for (let number = 0; number < 3; number++) await use(`SELECT 1 -- rare ${number}`, 4)
  await use('SELECT 1 -- usual', 5)
  expect([await prepared('rare'), await prepared('usual')]).toEqual([0, 1])
  for (let number = 0; number < 120; number++) await use(`SELECT 1 -- many ${number}`, 5)
  expect(await prepared('usual')).toBe(1)
  expect(await prepared('many')).toBeGreaterThan(50)
  expect(await prepared('many')).toBeLessThan(100)
})

test('nothing is prepared where a pooler may lend another connection for each transaction', async () => {
  const db = open(false)
  for (let run = 0; run < 7; run++) await db.query(MARKED, [['a']])
  expect((await db.query('SELECT count(*)::int AS n FROM pg_prepared_statements')).rows).toEqual([{ n: 0 }])
})

test('a connection forgets its plans once a table has grown, and keeps the statements', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const db = open()
  const generic = async () => (await db.query<{ generic: number }>(PREPARED)).rows[0]!.generic
  const discarded = async () => {
    const { queries } = await recordAllQueries(() => db.query(MARKED, [['a']]))
    return queries.some(({ text }) => text === 'DISCARD PLANS')
  }
  /** Whether it has, once the first use has looked at the sizes beside its own statement. */
  const later = async () => {
    vi.advanceTimersByTime(11_000)
    return [await discarded(), await discarded(), await discarded()].includes(true)
  }
  await later()
  expect(await later()).toBe(false)
  await db.query('CREATE TABLE grows (words text)')
  onTestFinished(async () => void (await database.db.query('DROP TABLE grows')))
  expect(await later()).toBe(true)
  await db.query("INSERT INTO grows SELECT repeat('word', 100) FROM generate_series(1, 50)")
  expect(await discarded()).toBe(false)
  expect(await later()).toBe(true)
  expect(await later()).toBe(false)
  expect(await generic()).toBeGreaterThan(0)
})

test('a locked table makes nothing wait for its size', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const db = open()
  // The first look has ended, and its sizes are known to the connection, before the lock is taken.
  for (let run = 0; run < 4; run++) await db.query(MARKED, [['a']])
  await database.db.transaction(async (tx) => {
    await tx.query('LOCK TABLE audit_log IN ACCESS EXCLUSIVE MODE')
    vi.advanceTimersByTime(11_000)
    const { queries } = await recordAllQueries(async () => {
      // The second one comes after the look at the sizes.
      for (let run = 0; run < 2; run++) await db.query(MARKED, [['a']])
    })
    expect(queries.filter(({ text }) => text.includes('pg_relation_size'))).toHaveLength(1)
    expect(queries.map(({ text }) => text)).not.toContain('DISCARD PLANS')
  })
})

test('a statement that fails, and a connection that breaks, leave later statements as they should be', async () => {
  const db = open()
  await expect(db.query(MARKED, ['no array'])).rejects.toThrow('malformed array literal')
  expect((await db.query(MARKED, [['no such key']])).rows).toEqual([])
  const { rows } = await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  await database.db.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
  await vi.waitFor(async () => expect((await db.query(MARKED, [['no such key']])).rows).toEqual([]))
})
