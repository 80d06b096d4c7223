/** A server that is killed while it makes runs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { runProgram } from '../../support/programs/run-program.ts'
import { chainsOf, makeDue, outcomes, scheduleServer } from '../../support/servers/schedule-server.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

test('before the commit: nothing is there, and the next server makes the run once', async () => {
  const server = await scheduleServer(database.db)
  const id = await server.schedule()
  await makeDue(database.db, id)
  const killed = await runProgram('killed-in-schedule-program.ts', [database.connectionString])
  expect(killed.status).toBeNull()
  expect([await outcomes(database.db, id), await chainsOf(database.db, id)]).toEqual([[], []])
  // The connection of the dead is noticed, and what it had is rolled back.
  await eventually(async () => {
    await server.runSchedules()
    return (await outcomes(database.db, id)).length > 0
  })
  await server.runSchedules()
  expect(await outcomes(database.db, id)).toEqual(['STARTED'])
  expect(await chainsOf(database.db, id)).toHaveLength(1)
  const { rows } = await database.db.query<{ sessions: number }>('SELECT count(*) AS sessions FROM sessions')
  expect(rows[0]!.sessions).toBe(1)
})
