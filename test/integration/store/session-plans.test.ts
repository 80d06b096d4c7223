/** Plans of reading sessions and decisions: the present ones are found without those of before. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { addManyChains, withoutTriggers } from '../../support/sessions/many-chains.ts'
import { analysedPlanOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordQueries } from '../../support/database/record-statements.ts'

const SESSIONS = 40_000
const RETRIED = 40
let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
  const { db } = server
  await addManyChains(db, SESSIONS, 3)
  await withoutTriggers(
    db,
    `UPDATE sessions SET retry_count = 7, max_retries = 9 WHERE id IN (
       SELECT id FROM sessions WHERE status = 'ERROR' ORDER BY created_at LIMIT ${RETRIED})`,
  )
  await withoutTriggers(
    db,
    `UPDATE retry_decisions SET phase = 'SCHEDULED', due_at = now(), ready_at = now(), child_session_id = NULL
     WHERE session_id IN (SELECT id FROM sessions WHERE retry_count = 7)`,
  )
  for (let n = 0; n < 5; n++) await server.factory.session({ status: 'PENDING' })
  await db.query('VACUUM ANALYZE sessions, retry_decisions')
})
afterAll(() => server?.close())

/** Runs a query, and then the plans of all that it asked of tables that grow. */
async function plansOf(query: string): Promise<{ data: any; whole: string[]; rows: number; indexes: Set<string> }> {
  const { result, queries } = await recordQueries(() => server.query(query))
  expect(result.errors).toBeUndefined()
  const asked = queries.filter(({ text }) => /FROM "public"\."(sessions|retry_decisions)"/.test(text))
  const nodes = []
  for (const { text, values } of asked) nodes.push(...(await analysedPlanOf(server.db, { text, values })))
  return {
    data: result.data,
    whole: readWhole(nodes),
    rows: rowsRead(nodes),
    indexes: new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
  }
}

const LIVE = SESSIONS / 400

describe.each([
  ['PENDING', '[PENDING]', 5],
  ['RUNNING', '[RUNNING]', LIVE],
  ['several', '[PENDING, SCHEDULED, PREPARING, RUNNING]', LIVE + 5],
])('sessions that are %s', (_name, status, about) => {
  test('a page and its count read no more than those', async () => {
    const { data, whole, rows, indexes } = await plansOf(
      `{ sessions(first: 20, filter: { status: ${status} }) { totalCount edges { node { sessionId status } } } }`,
    )
    expect(data.sessions.totalCount).toBeGreaterThan(about / 2)
    expect(whole).toEqual([])
    expect(indexes).toContain('sessions_active')
    expect(rows).toBeLessThanOrEqual(4 * about)
  })
})

test.each([
  ['sessions', '{ status: [TERMINATED] }'],
  ['sessions', '{ name: { contains: "common" } }'],
  ['sessions', '{}'],
  ['retryDecisions', '{}'],
])('%s by %s: counting stops at 10,000, and says so', async (field, filter) => {
  const { data, rows } = await plansOf(`{ ${field}(first: 0, filter: ${filter}) { totalCount totalCountIsExact } }`)
  expect(data[field]).toEqual({ totalCount: 10_000, totalCountIsExact: false })
  expect(rows).toBeLessThan(15_000)
})

test('a count that is all says so', async () => {
  const { data } = await plansOf('{ sessions(first: 0, filter: { status: [RUNNING] }) { totalCountIsExact } }')
  expect(data.sessions).toEqual({ totalCountIsExact: true })
})

test('decisions that wait: a page and its count read no more than those', async () => {
  const { data, whole, rows, indexes } = await plansOf(
    `{ retryDecisions(first: 20, filter: { phase: [SCHEDULED, HELD] }) { totalCount edges { node { phase } } } }`,
  )
  expect(data.retryDecisions.totalCount).toBe(RETRIED)
  expect(whole).toEqual([])
  // Each of them has what waits, and no more.
  expect([...indexes].filter((index) => !['retry_decisions_queue', 'retry_decisions_due'].includes(index))).toEqual([])
  expect(indexes.size).toBeGreaterThan(0)
  expect(rows).toBeLessThanOrEqual(4 * RETRIED)
})

test.each([
  ['retryCount', '{ retryCount: { min: 5 } }', 'sessions_retried'],
  ['retryCount, exactly', '{ retryCount: { min: 7, max: 7 } }', 'sessions_retried'],
  ['maxRetries', '{ maxRetries: { min: 3 } }', 'sessions_with_retries'],
])('sessions by %s', async (_what, filter, index) => {
  const { data, whole, rows, indexes } = await plansOf(
    `{ sessions(first: 20, filter: ${filter}) { totalCount edges { node { sessionId } } } }`,
  )
  expect(data.sessions.totalCount).toBe(RETRIED)
  expect(whole).toEqual([])
  expect(indexes).toContain(index)
  expect(rows).toBeLessThanOrEqual(4 * RETRIED)
})

test('sessions by parent', async () => {
  const { rows: found } = await server.db.query<{ parent: string }>(
    'SELECT parent_session_id AS parent FROM sessions WHERE parent_session_id IS NOT NULL LIMIT 1',
  )
  const { data, whole, rows } = await plansOf(
    `{ sessions(filter: { parentSessionId: "${found[0]!.parent}" }) { totalCount edges { node { sessionId } } } }`,
  )
  expect(data.sessions.totalCount).toBe(1)
  expect(whole).toEqual([])
  expect(rows).toBeLessThanOrEqual(4)
})
