/** A test database is as after the migrations once it is fresh, and its time can be moved. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { passTime } from '../../support/sessions/pass-time.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

async function count(table: string): Promise<number> {
  const { rows } = await database.db.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)
  return rows[0]!.n
}

test('fresh() leaves the rows of the migrations and nothing else', async () => {
  const settings = await count('settings')
  await database.db.query(`INSERT INTO settings (key, value) VALUES ('a', '1')`)
  await database.db.query(`DELETE FROM projects`)
  await database.fresh()
  expect(await count('settings')).toBe(settings)
  expect(await count('projects')).toBe(1)
  expect(await count('resource_groups')).toBe(1)
})

test('time passes for all connections at once, and is right again in a fresh database', async () => {
  const AHEAD = `SELECT extract(epoch FROM reprise_now() - now())::int AS now,
    round(extract(epoch FROM reprise_clock() - clock_timestamp()))::int AS clock`
  const other = await database.connect()
  const ahead = async () => [(await database.db.query(AHEAD)).rows[0], (await other.query(AHEAD)).rows[0]]
  expect(await ahead()).toEqual([
    { now: 0, clock: 0 },
    { now: 0, clock: 0 },
  ])
  await passTime(database.db, 60)
  await Promise.all([passTime(database.db, 3_600), passTime(database.db, 0.5), passTime(database.db, 0.5)])
  expect(await ahead()).toEqual([
    { now: 3_661, clock: 3_661 },
    { now: 3_661, clock: 3_661 },
  ])
  await database.fresh()
  expect(await ahead()).toEqual([
    { now: 0, clock: 0 },
    { now: 0, clock: 0 },
  ])
  await other.end()
})
