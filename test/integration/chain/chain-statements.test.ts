/** The number of statements that reading chains costs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { recordStatements } from '../../support/database/record-statements.ts'

const LONG = 1_000
let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
  for (let n = 0; n < 50; n++)
    await server.factory.chain(2, { name: `short-${n}`, status: 'ERROR', phase: 'EXHAUSTED' })
  await lengthen('short-0', LONG)
  await server.db.query(`UPDATE sessions SET priority = 3 WHERE attempt = 2 AND name <> 'short-0'`)
})
afterAll(() => server?.close())

/** Makes a chain of two one of many, by copies of its second attempt and that attempt's decision. */
async function lengthen(name: string, attempts: number): Promise<void> {
  await server.db.query(
    `WITH tail AS (SELECT id FROM sessions WHERE name = $1 AND attempt = 2), ids AS MATERIALIZED (
       SELECT n, CASE WHEN n = 2 THEN tail.id ELSE gen_random_uuid() END AS id FROM tail, generate_series(2, $2::int) AS n
     ), copies AS (
       INSERT INTO sessions SELECT (json_populate_record(s, json_build_object('id', ids.id, 'parent_session_id', parent.id,
         'attempt', ids.n, 'creation_id', ids.id, 'priority', ids.n % 7))).*
       FROM tail JOIN sessions s ON s.id = tail.id, ids JOIN ids parent ON parent.n = ids.n - 1 WHERE ids.n > 2
       ORDER BY ids.n RETURNING id, project_id, chain_id
     ), kernels AS (
       INSERT INTO kernels (id, session_id, role, index, status, resource_slots)
       SELECT gen_random_uuid(), id, 'main', 1, 'ERROR', '{}' FROM copies
     )
     INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, explanation)
     SELECT id, project_id, chain_id, 'EXHAUSTED', 'KERNEL_NONZERO_EXIT', 'a copy' FROM copies`,
    [name, attempts],
  )
}

const FIELDS = `
  id chainId name state cause attempts totalSeconds labels { key } project { name domain } outlook { willRetry reason at }
  firstAttempt { sessionId status retryState { label } } newestAttempt { sessionId kernels { role } retryDecision { phase } }
  runningSeconds pendingSeconds betweenSeconds waitingSeconds successCount failureCount failures { cause count }
  epochs { epoch by overrides { field } firstSession { name } }
  changes(first: 2) { totalCount edges { node { attempt differences { field } session { status } } } }
  sessions(first: 2) { totalCount edges { node { attempt kernels { logs(first: 1) { edges { node { text } } } } chain { state } } } }
  timeline(first: 3) { totalCount edges { node { kind from to reason session { sessionId } } } }
  last: timeline(last: 2) { edges { node { kind attempt } } }
  newest: sessions(last: 2) { edges { node { attempt retryDecision { explanation } } } }`

async function ask(text: string, variables: object) {
  const { result, statements } = await recordStatements(() => server.query(text, variables))
  expect(result.errors).toBeUndefined()
  return { data: result.data, statements: statements.filter((sql) => !/session_events|api_tokens/.test(sql)) }
}

async function page(first: number): Promise<string[]> {
  const orderBy = { field: 'ATTEMPTS', direction: 'DESC' }
  const text = `query ($first: Int!, $orderBy: ChainOrder!) { chains(first: $first, orderBy: $orderBy) { totalCount edges { node { ${FIELDS} } } } }`
  const { data, statements } = await ask(text, { first, orderBy })
  expect(data.chains.edges).toHaveLength(first)
  expect(data.chains.edges[0].node.attempts).toBe(LONG)
  for (const { node } of data.chains.edges) {
    expect(node).toMatchObject({ state: 'FAILED', failureCount: node.attempts, project: { name: 'default' } })
    expect(node.last.edges.at(-1).node.attempt).toBe(node.attempts)
    expect(node.newest.edges[1].node.attempt).toBe(node.attempts)
  }
  return statements
}

test('50 chains cost as many statements as one', async () => {
  const one = await page(1)
  const fifty = await page(50)
  expect(fifty.length, fifty.join('\n')).toBe(one.length)
})

test('1,000 attempts cost as many statements as two', async () => {
  const text = `query ($filter: ChainFilter) { chains(first: 1, filter: $filter) { edges { node { ${FIELDS} } } } }`
  const long = await ask(text, { filter: { name: { equals: 'short-0' } } })
  const short = await ask(text, { filter: { name: { equals: 'short-1' } } })
  expect(long.data.chains.edges[0].node).toMatchObject({ attempts: LONG, changes: { totalCount: LONG - 2 } })
  expect(short.data.chains.edges[0].node).toMatchObject({ attempts: 2, changes: { totalCount: 1 } })
  expect(long.statements.length, long.statements.join('\n')).toBe(short.statements.length)
})
