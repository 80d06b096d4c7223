/** The queue of retries as people read it: by when they are due, with what holds them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { analysedPlanOf, rowsRead } from '../../support/database/plans.ts'
import { recordQueries } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const QUEUE = `query ($first: Int, $after: String, $last: Int) {
  retryDecisions(orderBy: DUE_AT, first: $first, after: $after, last: $last) {
    totalCount pageInfo { hasNextPage endCursor } edges { node { session { name } dueAt holdReason heldSince holds { from } } } } }`

test('goes by when retries are due, page by page, and tells since when they are held', async () => {
  const { factory, db } = server
  const retryPolicy = { maxRetries: 3 }
  for (const [name, minutes, phase] of [
    ['third', 30, 'SCHEDULED'],
    ['first', -20, 'HELD'],
    ['second', 10, 'SCHEDULED'],
    ['over', -90, 'EXHAUSTED'],
  ] as const) {
    const { id } = await factory.session({ name, status: 'ERROR', phase, retryPolicy })
    await db.query(`UPDATE retry_decisions SET due_at = now() + make_interval(mins => $2) WHERE session_id = $1`, [
      id,
      minutes,
    ])
    if (phase === 'HELD') {
      await db.query(
        `INSERT INTO retry_waits (session_id, number, reason, from_at, to_at) VALUES
           ($1, 1, 'DISABLED', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'), ($1, 2, 'QUOTA', '2026-01-01T00:01:00Z', NULL)`,
        [id],
      )
    }
  }
  const names: string[] = []
  let after: string | null = null
  do {
    const { data, errors }: any = await server.query(QUEUE, { first: 1, after })
    expect(errors).toBeUndefined()
    const { totalCount, edges, pageInfo } = data.retryDecisions
    expect(totalCount).toBe(3)
    names.push(edges[0].node.session.name)
    expect(edges[0].node.heldSince).toBe(edges[0].node.session.name === 'first' ? '2026-01-01T00:01:00.000Z' : null)
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null
  } while (after !== null)
  expect(names).toEqual(['first', 'second', 'third'])
  const { data } = await server.query(QUEUE, { last: 1 })
  expect(data.retryDecisions.edges[0].node.session.name).toBe('third')

  const { data: held } = await server.query(
    '{ chains(filter: { name: { equals: "first" } }) { edges { node { outlook { willRetry reason at } } } } }',
  )
  // Overdue: the time at which it should have been dispatched says nothing about when it will be.
  expect(held.chains.edges[0].node.outlook).toMatchObject({ willRetry: true, at: null })
  expect(held.chains.edges[0].node.outlook.reason).toMatch(/^held: /)
})

test('reads the page, not all that wait', async () => {
  const { db, factory } = server
  const { id } = await factory.session({
    name: 'one of many',
    status: 'ERROR',
    phase: 'SCHEDULED',
    retryPolicy: { maxRetries: 1 },
  })
  await db.query('ALTER TABLE retry_decisions DISABLE TRIGGER USER')
  await db.query('ALTER TABLE retry_decisions DROP CONSTRAINT retry_decisions_session_id_fkey')
  await db.query(
    `INSERT INTO retry_decisions SELECT (json_populate_record(d, json_build_object('session_id', gen_random_uuid(),
       'due_at', now() + make_interval(secs => n)))).* FROM retry_decisions d, generate_series(1, 20000) AS n WHERE d.session_id = $1`,
    [id],
  )
  await db.query('VACUUM ANALYZE retry_decisions')
  const { queries } = await recordQueries(() =>
    server.query('{ retryDecisions(orderBy: DUE_AT, first: 10) { edges { node { dueAt } } } }'),
  )
  const page = queries.find(({ text }) => text.includes('"retry_decisions"'))!
  const nodes = await analysedPlanOf(db, page)
  expect(nodes.map((node) => node['Index Name'])).toContain('retry_decisions_due')
  expect(rowsRead(nodes)).toBeLessThan(100)
})
