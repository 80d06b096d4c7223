import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

/** GraphQL over server-sent events, in the mode of one connection for each operation, as graphql-sse speaks it. */

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

function client(token = server.adminToken) {
  return createClient({
    url: `${server.url}/graphql`,
    headers: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  })
}

async function answers(query: string): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const answer of client().iterate({ query })) all.push(answer)
  return all
}

const WAIT = { query: 'subscription { retryEvents { cursor } }' }

test('a query is one answer and the end', async () => {
  expect(await answers('{ __typename }')).toEqual([{ data: { __typename: 'Query' } }])
})

test('what is wrong with an operation is told', async () => {
  expect(await answers('{ nothing }')).toMatchObject([{ errors: [{ message: expect.stringContaining('nothing') }] }])
})

test('a token that is none is refused', async () => {
  await expect(client('nonsense').iterate(WAIT).next()).rejects.toMatchObject({ response: { status: 401 } })
})

test('a subscription ends on the server when the client leaves it', async () => {
  const events = client().iterate(WAIT)
  const next = events.next().catch(() => null)
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), { timeout: 120_000 })
  await events.return!()
  await next
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), { timeout: 120_000 })
})

test('the stream is not cached, and text of its own kind', async () => {
  const hangUp = new AbortController()
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${server.adminToken}`,
    },
    body: JSON.stringify(WAIT),
    signal: hangUp.signal,
  })
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  expect(response.headers.get('cache-control')).toBe('no-cache')
  hangUp.abort()
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), { timeout: 120_000 })
})
