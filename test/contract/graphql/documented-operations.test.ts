import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

/** Every GraphQL operation that the documentation shows, as it stands there, on a server without sessions. */

const blocks = await blocksOfTest('test/contract/graphql/documented-operations.test.ts')
const ERRORS_PAGE = 'docs/errors.md'
const [refused, ...refusals] = blocks.filter(({ page }) => page === ERRORS_PAGE)
const shown = blocks.filter(({ page }) => page !== ERRORS_PAGE)
const operations = shown.map(({ page, text }) => ({
  page,
  line: text.match(/\b\w{10,}/)?.[0] ?? text,
  operation: text,
}))

const [subscriptions, requests] = [true, false].map((wanted) =>
  operations.filter(({ operation }) => operation.startsWith('subscription') === wanted),
) as [typeof operations, typeof operations]

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('operations of the documentation', () => {
  test('are seen', () => {
    expect(requests.length).toBeGreaterThanOrEqual(4)
    expect(subscriptions.length).toBeGreaterThanOrEqual(1)
  })

  test.each(subscriptions)('$page: $line', async ({ operation }) => {
    const connection = connect(server.url, server.adminToken)
    const stream = connection.subscribe(operation)
    const next = stream.take(1).catch((error: unknown) => error)
    // What is refused is refused before it is listened for.
    await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), { timeout: 120_000 })
    await connection.close()
    await next
  })

  test.each(requests)('$page: $line', async ({ operation }) => {
    // Of the variables that an operation may show, `ids` is the one that has to be given.
    const { status, data, errors } = await server.query(operation, operation.includes('$ids') ? { ids: [] } : {})
    expect({ status, errors }).toEqual({ status: 200, errors: undefined })
    // What cannot be done answers with the code of an error.
    expect(JSON.stringify(data)).not.toMatch(/"code":"[A-Z_]+"/)
  })
  test('docs/errors.md shows what is answered to a wrong input, in GraphQL and REST', async () => {
    const [graphql, rest] = refusals.map(({ text }) => JSON.parse(text) as Record<string, unknown>)
    const { data } = await server.query(refused!.text)
    expect(data).toEqual(graphql)
    const response = await fetch(`${server.url}/v2/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'demo', command: [], retry_policy: { max_retries: 500 } }),
    })
    expect({ ...((await response.json()) as object), request_id: '…' }).toEqual(rest)
  })
})
