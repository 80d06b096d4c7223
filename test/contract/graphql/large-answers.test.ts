import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { writeEvents } from '../../support/database/outbox.ts'
import { pause } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { threadTimeOf, watchEventLoop } from '../../support/servers/event-loop-delay.ts'
import { startSecondServer } from '../../support/servers/second-server.ts'

describe('compression', () => {
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

  /** The answer as it is sent, before a client decodes it. */
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

  test('a short answer is sent uncompressed', async () => {
    const { headers, body } = await ask('/graphql', { query: '{ __typename }', headers: { 'accept-encoding': 'br' } })
    expect(headers['content-encoding']).toBeUndefined()
    expect(JSON.parse(body.toString())).toEqual({ data: { __typename: 'Query' } })
  })

  test('the tag of a compressed answer is weak, and is recognised', async () => {
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
    const target = await startSecondServer(server.database)
    onTestFinished(async () => void (await target.stop()))
    const { url } = target
    const big = 'x'.repeat(500_000)
    const ids: string[] = []
    for (let n = 0; n < 10; n++) ids.push((await server.factory.session({ name: 'large' })).id)
    await server.db.query('UPDATE sessions SET command = ARRAY[$2] WHERE id = ANY($1)', [ids, big])
    const query = `{ sessions(first: 10, filter: { name: { equals: "large" } }) { edges { node { command } } } }`
    // The first ones also load and compile code, which does not count.
    for (const encoding of Object.keys(DECODERS)) {
      await ask('/graphql', { url, query, headers: { 'accept-encoding': encoding } })
    }
    const loop = watchEventLoop(url, threadTimeOf(target.pid))
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
})

/** Clients that do not read what they have subscribed to, on sockets of their own. */
describe('slow readers', () => {
  /** More than a subscriber's queue holds; with the selection below far more than the systems between take. */
  const EVENTS = 12_000
  const BATCH = 2_000
  /** The bound of one socket: one event, and the bytes that Node.js writes at once. */
  const BUFFERED_BYTES_MAX = 256 * 1024
  const STALLED_AFTER_MS = 2_000

  /** About 5 KB for each event. */
  const WIDE = `subscription ($after: String) { sessionEvents(after: $after) { cursor ${Array.from(
    { length: 100 },
    (_, n) => `c${n}: sessionId`,
  ).join(' ')} } }`

  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer({
      requestLimits: { headersWithinMs: 15_000, requestWithinMs: 120_000, stalledAfterMs: STALLED_AFTER_MS },
      webSockets: { pingIntervalMs: 120_000 },
    })
  })
  afterAll(() => server?.close())

  async function publish(reason = ''): Promise<void> {
    for (let n = 0; n < EVENTS; n += BATCH) {
      await writeEvents(
        server.db,
        Array.from({ length: BATCH }, () => ({ data: { from: null, to: 'PENDING', reason } })),
      )
      server.wake.wake('events')
    }
  }

  /**
   * The bytes that wait in the server for this client, by its port: both ends are in this process. Zero once it is cut
   * off.
   */
  function buffered(port: number): number {
    const sockets = (process as unknown as { _getActiveHandles(): Socket[] })._getActiveHandles()
    return sockets.find(({ remotePort }) => remotePort === port)?.writableLength ?? 0
  }

  async function follow(): Promise<{ all: Promise<string[]>; close(): unknown }> {
    const connection = connect(server.url, server.adminToken)
    const stream = connection.subscribe('subscription { sessionEvents { cursor } }')
    const all = stream.take(EVENTS).then((events) => events.map(({ sessionEvents }) => sessionEvents.cursor as string))
    return { all, close: connection.close }
  }

  test('over graphql-ws: memory is bounded, others are not delayed, and nothing is missed', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const cursors: string[] = []
    const done = Promise.withResolvers<void>()
    socket.on('open', () => {
      socket.send(
        JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${server.adminToken}` } }),
      )
    })
    socket.on('message', (data: Buffer) => {
      const { type, payload } = JSON.parse(String(data))
      if (type === 'connection_ack')
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: WIDE } }))
      if (type !== 'next') return
      cursors.push(payload.data.sessionEvents.cursor)
      if (cursors.length === EVENTS) done.resolve()
    })
    const other = await follow()
    await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(2)
    const { localPort } = (socket as unknown as { _socket: Socket })._socket
    socket.pause()

    await publish()
    const expected = await other.all
    expect(buffered(localPort!)).toBeGreaterThan(0)
    expect(buffered(localPort!)).toBeLessThan(BUFFERED_BYTES_MAX)
    expect(cursors).toEqual([])

    socket.resume()
    await done.promise
    expect(cursors).toEqual(expected)
    socket.close()
    await other.close()
  })

  test.each([
    ['GraphQL', openStream, /"cursor":"([^"]+)"/g, /"cursor":"([^"]+)"/g],
    // A stream of REST begins with the id from which one goes on that has got no event.
    ['REST', openRestStream, /id: (\S+)\nevent: /g, /id: (\S+)\n/g],
  ] as const)(
    'over server-sent events of %s: a reader that takes nothing is cut off, and continues from its cursor',
    async (_, open, ofEvent, ofAny) => {
      const stream = await open()
      const received = receive(stream.response)
      await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(1)
      const other = await follow()
      await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(2)
      stream.response.socket.pause()
      await publish('x'.repeat(4_000))
      const expected = await other.all
      expect(buffered(stream.port)).toBeLessThan(BUFFERED_BYTES_MAX)
      await other.close()
      await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(0)

      stream.response.socket.resume()
      const text = await received
      const first = cursorsIn(text, ofEvent)
      expect(first.length).toBeLessThan(EVENTS)
      const from = cursorsIn(text, ofAny).at(-1)
      expect(from).toBeDefined()
      const again = await open(from)
      const rest: string[] = []
      let unread = ''
      for await (const chunk of again.response) {
        unread += String(chunk)
        const end = unread.lastIndexOf('\n\n')
        if (end < 0) continue
        rest.push(...cursorsIn(unread.slice(0, end + 2), ofEvent))
        unread = unread.slice(end + 2)
        if (first.length + rest.length >= EVENTS) break
      }
      expect([...first, ...rest]).toEqual(expected)
    },
  )

  test('over server-sent events: one that waits for an event is not cut off', async () => {
    const stream = await openStream()
    await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(1)
    await pause(2 * STALLED_AFTER_MS)
    expect(server.bus.subscribers).toBe(1)
    stream.response.destroy()
    await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(0)
  })

  async function openStream(after?: string): Promise<{ response: IncomingMessage; port: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const headers = {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${server.adminToken}`,
    }
    const outgoing = request(`${server.url}/graphql`, { method: 'POST', headers, agent: false }, resolve)
    outgoing.on('error', reject).end(JSON.stringify({ query: WIDE, variables: { after } }))
    const response = await promise
    return { response, port: response.socket.localPort! }
  }

  async function openRestStream(after?: string): Promise<{ response: IncomingMessage; port: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const headers = { authorization: `Bearer ${server.adminToken}`, ...(after && { 'last-event-id': after }) }
    request(`${server.url}/v2/events`, { headers, agent: false }, resolve).on('error', reject).end()
    const response = await promise
    return { response, port: response.socket.localPort! }
  }

  /** The bytes until the other end is gone. They are read at once, since a reset connection loses waiting ones. */
  function receive(response: IncomingMessage): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>()
    let text = ''
    response.on('data', (chunk: Buffer) => (text += String(chunk)))
    response.on('error', () => {})
    response.on('close', () => resolve(text))
    return promise
  }

  /** The number of whole events; one that was cut off in the middle does not count. */
  function cursorsIn(text: string, cursor: RegExp): string[] {
    const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
    return [...whole.matchAll(cursor)].map(([, found]) => found!)
  }
})
