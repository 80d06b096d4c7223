/** Answers of HTTP are compressed as the client asks, and are whole however they are sent. */
import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { threadTimeOf, watchLoop } from '../../support/servers/loop-hold.ts'
import { startServerBeside } from '../../support/servers/server-beside.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer({ metricsPublic: true })
  for (let n = 0; n < 100; n++) await server.factory.session({ name: `session-${n}` })
})
afterAll(() => server?.close())

const DECODERS: Record<string, (body: Buffer) => Buffer> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
}

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** As sent, without what clients do with it. */
function ask(
  path: string,
  options: { query?: string | undefined; headers?: Record<string, string>; url?: string } = {},
): Promise<Answer> {
  const { query, headers, url = server.url } = options
  const sent = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json', ...headers }
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}${path}`,
      { method: query === undefined ? 'GET' : 'POST', headers: sent },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        )
      },
    )
    asked.once('error', reject).end(query === undefined ? undefined : JSON.stringify({ query }))
  })
}

const LIST = `{ sessions(first: 100) { edges { node { id name status command labels { key value } } } } }`
const ANSWERS: Record<string, [path: string, query?: string]> = {
  'a query': ['/graphql', LIST],
  'a query by GET': [`/graphql?query=${encodeURIComponent(LIST)}`],
  'a list over REST': ['/v2/sessions?limit=100'],
  'the OpenAPI document': ['/v2/openapi.json'],
  'the page of metrics': ['/metrics'],
}

describe.each(Object.entries(ANSWERS))('%s', (_name, [path, query]) => {
  test.each(Object.keys(DECODERS))('in %s', async (encoding) => {
    const plain = await ask(path, { query })
    const { status, headers, body } = await ask(path, { query, headers: { 'accept-encoding': encoding } })
    expect(status).toBe(200)
    expect(headers).toMatchObject({ 'content-encoding': encoding, 'content-length': String(body.length) })
    expect(headers['transfer-encoding']).toBeUndefined()
    expect(String(headers.vary)).toMatch(/Accept-Encoding/i)
    expect(body.length).toBeLessThan(plain.body.length / 2)
    const text = DECODERS[encoding]!(body).toString()
    // Metrics change from one request to the next.
    if (path === '/metrics') expect(text).toContain('bai_http_request_seconds')
    else expect(text).toBe(plain.body.toString())
    expect(plain.headers).toMatchObject({ 'content-length': String(plain.body.length) })
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.headers['transfer-encoding']).toBeUndefined()
    expect(String(plain.headers.vary)).toMatch(/Accept-Encoding/i)
  })
})

test.each([
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0.5, gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['*', 'zstd'],
  ['zstd;q=0, *;q=0.1', 'br'],
  ['identity', undefined],
  ['gzip;q=0', undefined],
  ['deflate', undefined],
  ['', undefined],
])('a client that accepts %s gets %s', async (accepted, encoding) => {
  const { headers } = await ask('/graphql', { query: LIST, headers: { 'accept-encoding': accepted } })
  expect(headers['content-encoding']).toBe(encoding)
})

test('what is short is sent as it is', async () => {
  const { headers, body } = await ask('/graphql', { query: '{ __typename }', headers: { 'accept-encoding': 'br' } })
  expect(headers['content-encoding']).toBeUndefined()
  expect(JSON.parse(body.toString())).toEqual({ data: { __typename: 'Query' } })
})

test('the tag of what is compressed is weak, and known again', async () => {
  const { headers } = await ask('/v2/sessions?limit=100', { headers: { 'accept-encoding': 'gzip' } })
  expect(headers.etag).toMatch(/^W\/"/)
  const again = { 'accept-encoding': 'gzip', 'if-none-match': String(headers.etag) }
  const known = await ask('/v2/sessions?limit=100', { headers: again })
  expect([known.status, known.body.length]).toEqual([304, 0])
})

test('event streams are sent as they come', async () => {
  const query = 'subscription { sessionEvents { type } }'
  const headers = { accept: 'text/event-stream', 'accept-encoding': 'gzip' }
  await new Promise<void>((resolve, reject) => {
    const sent = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json', ...headers }
    const asked = request(`${server.url}/graphql`, { method: 'POST', headers: sent }, (response) => {
      expect([undefined, 'none']).toContain(response.headers['content-encoding'])
      expect(response.headers['content-length']).toBeUndefined()
      response.once('data', () => {
        response.destroy()
        resolve()
      })
    })
    asked.once('error', reject).end(JSON.stringify({ query }))
  })
})

test('large answers keep nobody else waiting', async () => {
  // In a process of its own: what the test does itself must not count.
  const target = await startServerBeside(server.database)
  onTestFinished(async () => void (await target.stop()))
  const { url } = target
  const big = 'x'.repeat(500_000)
  const ids: string[] = []
  for (let n = 0; n < 10; n++) ids.push((await server.factory.session({ name: 'large' })).id)
  await server.db.query('UPDATE sessions SET command = ARRAY[$2] WHERE id = ANY($1)', [ids, big])
  const query = `{ sessions(first: 10, filter: { name: { equals: "large" } }) { edges { node { command } } } }`
  // What is loaded and compiled with the first ones is not their fault.
  for (const encoding of Object.keys(DECODERS)) {
    await ask('/graphql', { url, query, headers: { 'accept-encoding': encoding } })
  }
  const loop = watchLoop(url, threadTimeOf(target.pid))
  onTestFinished(() => loop.stop())
  await loop.begin()
  for (const encoding of Object.keys(DECODERS)) {
    const { headers, body } = await ask('/graphql', { url, query, headers: { 'accept-encoding': encoding } })
    expect(headers['content-encoding']).toBe(encoding)
    expect(DECODERS[encoding]!(body).length).toBeGreaterThan(ids.length * big.length)
  }
  loop.expectFree()
})

test('a client that leaves before its answer is compressed harms nobody', async () => {
  for (let n = 0; n < 20; n++) {
    const asked = request(`${server.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-type': 'application/json',
        'accept-encoding': 'br',
      },
    })
    const closed = new Promise((resolve) => asked.on('error', () => {}).once('close', resolve))
    asked.end(JSON.stringify({ query: LIST }), () => setImmediate(() => asked.destroy()))
    await closed
  }
  const { status } = await ask('/graphql', { query: LIST, headers: { 'accept-encoding': 'br' } })
  expect(status).toBe(200)
})
