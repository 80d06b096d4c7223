/** Statements on tables that were analysed while they were empty. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { dueRetries, exhaustedSessions } from '../../support/sessions/due-retries.ts'
import { testServer } from '../../support/servers/test-server.ts'

/** If autovacuum analyses a table while it is empty, plans are made for no rows until it comes again. */

/** Comparing all pairs of rows takes seconds, all triples hours. */
const ROWS = 3_000
const CHILDREN = 300

const TABLES = `FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
  const { db } = database
  const { rows } = await db.query<{ name: string }>(`SELECT relname AS name ${TABLES}`)
  for (const { name } of rows) await db.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`)
  await db.query(`SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', relname::text,
    'relpages', 50, 'reltuples', 0::real) ${TABLES}`)
})
afterAll(() => database?.close())

async function chainStates(): Promise<Record<string, number>> {
  const states = await database.db.query<{ state: string; count: number }>(
    'SELECT state, count(*)::int AS count FROM chains GROUP BY state',
  )
  return Object.fromEntries(states.rows.map(({ state, count }) => [state, count]))
}

test('chains follow large batches of sessions that the planner believes to be none', async () => {
  const server = testServer(database.db)
  await exhaustedSessions(server.context, { count: ROWS })
  expect(await chainStates()).toEqual({ FAILED: ROWS })

  await dueRetries(server.context, { count: CHILDREN })
  expect(await chainStates()).toEqual({ FAILED: ROWS, WAITING_RETRY: CHILDREN })
  while ((await server.run('dispatch-retries'))[0]! > 0);
  expect(await chainStates()).toEqual({ FAILED: ROWS, LIVE: CHILDREN })

  await database.db.query(`DELETE FROM sessions WHERE attempt = 2`)
  await database.db.query(`SELECT refresh_chains(ARRAY(SELECT chain_id FROM chains))`)
  expect(await chainStates()).toEqual({ FAILED: ROWS + CHILDREN })
})
