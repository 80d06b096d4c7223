import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect as connectTcp, type Socket } from 'node:net'
import { serverAudits } from 'graphql-http'
import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

const WAIT = { query: 'subscription { retryEvents { cursor } }' }

/** The GraphQL over HTTP specification, as the package graphql-http audits servers for it. */
describe('HTTP', () => {
  /** The number of tests in the package: with fewer, some would not run. */
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
  ])('%s that cannot be answered as asked (%s, %s) gets a message', async (_name, query, accept) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}`, accept }
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
    expect(response.status).toBe(406)
    expect(response.headers.get('transfer-encoding')).toBeNull()
    const { errors }: any = await response.json()
    expect(errors[0].message).toContain('text/event-stream')
  })
})

/** Usual requests go past Yoga. As `application/graphql+json`, the same request does not. */
describe('HTTP, past Yoga and through it', () => {
  let server: TestServer
  let id: string

  beforeAll(async () => {
    server = await startGraphQLServer()
    id = (await server.factory.session({ name: 'as "quoted", ä and \u{1f600}' })).id
  })
  afterAll(() => server?.close())

  const POINT = 'query P($id: UUID!) { session(id: $id) { name priority retryState { phase label } labels { key } } }'
  const CREATE =
    'mutation ($n: Int!) { createSession(input: { name: "c", command: ["true"], creationId: "c", priority: $n }) { __typename ... on CreateSessionPayload { session { name priority } } ... on Error { message } } }'

  const BODIES: Record<string, () => unknown> = {
    'a query': () => ({ query: POINT, variables: { id } }),
    'one of two operations': () => ({ query: `${POINT} { __typename }`, variables: { id }, operationName: 'P' }),
    'null for what is not given': () => ({ query: '{ __typename }', variables: null, operationName: null }),
    'an unknown id': () => ({ query: POINT, variables: { id: crypto.randomUUID() } }),
    'a mutation': () => ({ query: CREATE, variables: { n: 7 } }),
    'a mutation that is refused': () => ({ query: CREATE, variables: { n: 100_000 } }),
    'an error within data': () => ({ query: '{ ok: __typename sessions(first: -1) { totalCount } }' }),
    'a missing variable': () => ({ query: POINT }),
    'a wrong variable': () => ({ query: POINT, variables: { id: 'x' } }),
    'variables that are a list': () => ({ query: POINT, variables: [id] }),
    'an operation that is not there': () => ({ query: POINT, variables: { id }, operationName: 'Q' }),
    'which operation not said': () => ({ query: 'query A { __typename } query B { __typename }' }),
    'an unknown field': () => ({ query: '{ nothing }' }),
    'a broken document': () => ({ query: '{ ' }),
    'an empty document': () => ({ query: '' }),
    'a document of fragments': () => ({ query: 'fragment F on Session { name }' }),
    'too many fields': () => ({ query: `{ ${'__typename '.repeat(2_000)} }` }),
    'too costly': () => ({ query: '{sessions{edges{node{retryChain{retryChain{retryChain{name}}}}}}}' }),
    'too many values': () => ({ query: POINT, variables: { id, more: Array(25_000).fill(1) } }),
    'no document': () => ({ variables: {} }),
    'a document that is a number': () => ({ query: 1 }),
    'an operation name that is a number': () => ({ query: '{ __typename }', operationName: 1 }),
    'an unexpected parameter': () => ({ query: '{ __typename }', more: 1 }),
    'an unexpected parameter that is null': () => ({ query: '{ __typename }', more: null }),
    'extensions that are a text': () => ({ query: '{ __typename }', extensions: 'x' }),
    'a batch': () => [{ query: '{ __typename }' }],
    nothing: () => null,
  }
  const ACCEPTED = [
    undefined,
    '*/*',
    'application/json',
    'application/graphql-response+json, application/json;q=0.9',
    'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
    'text/event-stream, application/json; charset=utf-8',
    'APPLICATION / *',
    'application/json; charset=latin1',
    'multipart/mixed',
    'text/html',
  ]

  async function ask(contentType: string, body: string, accept: string | undefined, token = server.adminToken) {
    const headers = {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${token}`,
      ...(accept !== undefined && { accept }),
    }
    const sent = request(`${server.url}/graphql`, { method: 'POST', headers }).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const { date: _, 'x-request-id': requestId, ...answered } = response.headers
    const text = Buffer.concat(await response.toArray())
      .toString()
      .replaceAll(String(requestId), '<request>')
    return { status: response.statusCode, headers: answered, text }
  }

  async function expectTheSame(body: string, accept: string | undefined, token?: string) {
    const past = await ask('application/json', body, accept, token)
    expect(past, accept).toEqual(await ask('application/graphql+json', body, accept, token))
    return past
  }

  test.each(Object.keys(BODIES))('%s: the same answer', async (name) => {
    for (const accept of ACCEPTED) await expectTheSame(JSON.stringify(BODIES[name]!()), accept)
  })

  test('what is not JSON, and who may not: the same answer', async () => {
    for (const body of ['', '{', '{"query": "{ __typename }"} x']) await expectTheSame(body, undefined)
    const viewer = await server.factory.token({ role: 'VIEWER', projectId: await server.factory.project('other') })
    const asViewer = await expectTheSame(JSON.stringify(BODIES['a mutation']!()), undefined, viewer)
    expect(asViewer.text).toContain('ForbiddenError')
    await expectTheSame(JSON.stringify(BODIES['a query']!()), undefined, 'rp_wrong')
  })
})

/** The protocol graphql-transport-ws, message by message. What clients of it see is tested with the subscriptions. */
describe('WebSockets', () => {
  const PING_INTERVAL_MS = 100

  let server: TestServer
  const sockets: WebSocket[] = []

  beforeAll(async () => {
    const webSockets = { initTimeoutMs: 30_000, pingIntervalMs: PING_INTERVAL_MS }
    server = await startGraphQLServer({ webSockets })
  })
  afterAll(async () => {
    for (const socket of sockets) socket.terminate()
    await server?.close()
  })

  function open(protocol: string[] = ['graphql-transport-ws'], options: object = {}, url = server.url): WebSocket {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, protocol, options)
    sockets.push(socket)
    return socket
  }

  async function closed(socket: WebSocket): Promise<{ code: number; reason: string }> {
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
    return { code, reason: String(reason) }
  }

  async function answer(socket: WebSocket): Promise<any> {
    const [data] = (await once(socket, 'message')) as [Buffer]
    return JSON.parse(String(data))
  }

  async function initiated(options: object = {}): Promise<WebSocket> {
    const socket = open(undefined, options)
    await once(socket, 'open')
    const acknowledged = answer(socket)
    say(socket, { type: 'connection_init', payload: { authorization: `Bearer ${server.adminToken}` } })
    expect(await acknowledged).toEqual({ type: 'connection_ack' })
    return socket
  }

  function say(socket: WebSocket, message: unknown): void {
    socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  describe('close codes', () => {
    test.each([
      ['what is no JSON', '{', 4400],
      ['a message without a type', {}, 4400],
      ['a message of an unknown type', { type: 'start' }, 4400],
      ['a subscription without an id', { type: 'subscribe', payload: WAIT }, 4400],
      ['a second connection_init', { type: 'connection_init' }, 4429],
    ])('%s', async (_name, message, code) => {
      const socket = await initiated()
      say(socket, message)
      expect((await closed(socket)).code).toBe(code)
    })

    test('a subscription before connection_init', async () => {
      const socket = open()
      await once(socket, 'open')
      say(socket, { type: 'subscribe', id: '1', payload: WAIT })
      expect((await closed(socket)).code).toBe(4401)
    })

    test('no connection_init in time', async () => {
      const hasty = await startGraphQLServer({ webSockets: { initTimeoutMs: 300 } })
      onTestFinished(() => hasty.close())
      expect((await closed(open(undefined, {}, hasty.url))).code).toBe(4408)
    })

    test('an id that is in use', async () => {
      const socket = await initiated()
      for (let n = 0; n < 2; n++) say(socket, { type: 'subscribe', id: 'same', payload: WAIT })
      expect((await closed(socket)).code).toBe(4409)
    })

    test('no protocol', async () => {
      expect((await closed(open([]))).code).toBe(4406)
    })

    test('a message larger than any request may be', async () => {
      const socket = await initiated()
      say(socket, ' '.repeat(9 * 1024 * 1024))
      expect((await closed(socket)).code).toBe(1009)
    })
  })

  test('errors of an operation end the operation alone', async () => {
    const socket = await initiated()
    const wrong = [{ query: '{' }, { query: '{ nothing }' }, { query: 'query A { __typename } query B { __typename }' }]
    for (const [id, payload] of wrong.entries()) {
      const answered = answer(socket)
      say(socket, { type: 'subscribe', id: String(id), payload })
      expect(await answered).toMatchObject({
        type: 'error',
        id: String(id),
        payload: [{ message: expect.any(String) }],
      })
    }
    const answered = answer(socket)
    say(socket, { type: 'subscribe', id: 'right', payload: { query: '{ __typename }' } })
    expect(await answered).toEqual({ type: 'next', id: 'right', payload: { data: { __typename: 'Query' } } })
  })

  test.each([
    ['a document that is none', '{ projects {', 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', '{ projects { nothing } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['an unknown operation', 'query A { now } query B { now }', 'OPERATION_RESOLUTION_FAILURE'],
  ])('%s has the code that it has over HTTP, whichever was first', async (_name, query, code) => {
    const overHttp = async (text: string) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query: text }),
      })
      return (await response.json()).errors[0].extensions
    }
    const overSocket = async (text: string) => {
      const socket = await initiated()
      const answered = answer(socket)
      say(socket, { type: 'subscribe', id: '1', payload: { query: text } })
      const { payload } = await answered
      socket.close()
      return payload[0].extensions
    }
    expect([await overSocket(query), await overHttp(query)]).toEqual([{ code }, { code }])
    expect([await overHttp(`${query} `), await overSocket(`${query} `)]).toEqual([{ code }, { code }])
  })

  test('complete ends a subscription on the server, and its id may be used again', async () => {
    const socket = await initiated()
    for (let n = 0; n < 3; n++) {
      say(socket, { type: 'subscribe', id: 'same', payload: WAIT })
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), { interval: 5, timeout: 120_000 })
      say(socket, { type: 'complete', id: 'same' })
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), { interval: 5, timeout: 120_000 })
    }
    expect(socket.readyState).toBe(WebSocket.OPEN)
  })

  test("a client's ping is answered", async () => {
    const socket = await initiated()
    const answered = answer(socket)
    say(socket, { type: 'ping', payload: { n: 1 } })
    expect(await answered).toEqual({ type: 'pong', payload: { n: 1 } })
  })

  test('a connection whose other end answers pings stays', async () => {
    const socket = await initiated()
    for (let pings = 0; pings < 4; pings++) await once(socket, 'ping')
    expect(socket.readyState).toBe(WebSocket.OPEN)
  })

  test('a connection whose other end reads on stays without a pong, and is cut off when it does not', async () => {
    const socket = await initiated({ autoPong: false })
    const pings = { own: 0 }
    const goOn = () => say(socket, { type: 'ping' })
    socket.on('ping', () => pings.own++)
    socket.on('message', goOn)
    goOn()
    const other = await initiated()
    for (let intervals = 0; intervals < 8; intervals++) await once(other, 'ping')
    expect(socket.readyState).toBe(WebSocket.OPEN)
    // One waits for its answer; another would say nothing more.
    expect(pings.own).toBeLessThanOrEqual(1)
    socket.off('message', goOn)
    expect((await closed(socket)).code).toBe(1006)
  })

  test('a connection whose other end is gone is cut off, and its subscriptions end', async () => {
    const socket = await initiated({ autoPong: false })
    say(socket, { type: 'subscribe', id: '1', payload: WAIT })
    expect((await closed(socket)).code).toBe(1006)
    await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), { interval: 5, timeout: 120_000 })
  })

  test.each(['/elsewhere', '/'])('an upgrade of %s is refused', async (path) => {
    const { hostname, port } = new URL(server.url)
    const socket: Socket = connectTcp(Number(port), hostname)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
    )
    const [data] = (await once(socket, 'data')) as [Buffer]
    expect(String(data)).toMatch(/^HTTP\/1.1 404 /)
    socket.destroy()
  })
})

/** GraphQL over server-sent events, in the mode of one connection for each operation, as graphql-sse speaks it. */
describe('server-sent events', () => {
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

  test('a query is one answer and the end', async () => {
    expect(await answers('{ __typename }')).toEqual([{ data: { __typename: 'Query' } }])
  })

  test('the faults of an operation are reported', async () => {
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

  test('the stream is not cached, and has its own content type', async () => {
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
})
