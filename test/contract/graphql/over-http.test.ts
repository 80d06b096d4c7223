import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

/** The GraphQL over HTTP specification, as the package graphql-http audits servers for it. */

/** How many the package has: with fewer, some would not be run. */
const AUDITS = 61

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const audits = serverAudits({
  url: () => `${server.url}/graphql`,
  fetchFn: (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${server.adminToken}` } }),
})

test('no audit is left out', () => {
  expect(audits).toHaveLength(AUDITS)
})

test.each(audits)('$name', async (audit) => {
  const result = await audit.fn()
  expect(result.status === 'ok' ? 'ok' : `${result.status}: ${result.reason}`).toBe('ok')
})

test.each([
  ['a query', '{ __typename }', 'multipart/mixed'],
  [
    'a subscription',
    'subscription { sessionEvents { cursor } }',
    'multipart/mixed;subscriptionSpec=1.0, application/json',
  ],
  ['a subscription', 'subscription { sessionEvents { cursor } }', 'application/json'],
])('%s that cannot be answered as asked (%s, %s) is told so in words', async (_name, query, accept) => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}`, accept }
  const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  expect(response.status).toBe(406)
  expect(response.headers.get('transfer-encoding')).toBeNull()
  const { errors }: any = await response.json()
  expect(errors[0].message).toContain('text/event-stream')
})
