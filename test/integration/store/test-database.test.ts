/** A test database is as after the migrations once it is fresh. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'

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
