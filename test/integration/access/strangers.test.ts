/** Bounds on the memory and work that clients without a token can cause, over HTTP and WebSockets. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { request, type IncomingHttpHeaders } from 'node:http'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { executeSync, getIntrospectionQuery, parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { acceptedEncoding } from '../../../src/http/compression.ts'
import { findGraphiQL } from '../../../src/http/graphiql-files.ts'
import { readUiFiles } from '../../../src/http/ui-files.ts'
import { ROOT } from '../../guard/source-files.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

const STRANGER_STALLED_AFTER_MS = 1_000
/** The bound of one connection: one long answer, whose bytes all share, and the buffers of Node. */
const UNREAD_BYTES_MAX = (2 * 1024 + 128) * 1024
const WITHIN = { timeout: 120_000 }

const PAGE = { accept: 'text/html' }

let server: TestServer
let script: string
let editor: string

beforeAll(async () => {
  const bundle = await bundleUi(ROOT)
  server = await startGraphQLServer({
    ui: await readUiFiles(bundle),
    graphiql: await findGraphiQL(bundle),
    requestLimits: {
      headersWithinMs: 15_000,
      requestWithinMs: 120_000,
      stalledAfterMs: 120_000,
      strangerStalledAfterMs: STRANGER_STALLED_AFTER_MS,
    },
  })
  script = /href="(\/assets\/program-[^"]+\.js)"/.exec((await ask('/')).body.toString())![1]!
  editor = / src="(\/graphiql\/[^"]+\.js)"/.exec((await ask('/graphql', PAGE)).body.toString())![1]!
})
afterAll(() => server?.close())

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** The answer as it is sent, before a client decodes it. */
function ask(path: string, headers: Record<string, string> = {}, url = server.url): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    asked.on('error', reject).end()
  })
}

const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
const post = (path: string, body: string, ...headers: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: localhost', `Content-Length: ${body.length}`, ...headers, '', body].join('\r\n')

function open(bytes: string, url = server.url): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(bytes)
  return socket
}

/** The server's ends of its connections: both ends are of this process. */
function serverEndsAt(url: string): Socket[] {
  const port = Number(new URL(url).port)
  const handles = (process as unknown as { _getActiveHandles(): Socket[] })._getActiveHandles()
  return handles.filter(({ localPort, remotePort }) => localPort === port && remotePort !== undefined)
}

function serverEnd({ localPort }: Socket, url = server.url): Socket | undefined {
  return serverEndsAt(url).find(({ remotePort }) => remotePort === localPort)
}

/** The bodies of the answers in their order, once there are as many. */
function answers(socket: Socket, count: number): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const bodies: string[] = []
  let unread = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk])
    for (;;) {
      const end = unread.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(unread.subarray(0, Math.max(0, end)).toString())?.[1] ?? 0)
      if (end < 0 || unread.length < end + 4 + length) break
      bodies.push(unread.subarray(end + 4, end + 4 + length).toString())
      unread = unread.subarray(end + 4 + length)
    }
    if (bodies.length >= count) resolve(bodies)
  })
  socket.once('close', () => reject(new Error(`closed after ${bodies.length} answers`)))
  return promise
}

/** An answer of half a megabyte. */
const LARGE = get('/v2/openapi.json', 'Accept-Encoding: identity')

describe('requests in a row', () => {
  test.each([
    ['GraphiQL', () => get(editor)],
    ['the OpenAPI document', get('/v2/openapi.json')],
    ['a script of the web UI', () => get(script)],
  ])('for %s, by a client that reads nothing: little is kept, and its connection is closed', async (_name, one) => {
    const socket = open((typeof one === 'string' ? one : one()).repeat(900))
    socket.pause()
    let most = 0
    let end: Socket | undefined
    await expect
      .poll(() => {
        end ??= serverEnd(socket)
        most = Math.max(most, end?.writableLength ?? 0)
        return end?.destroyed
      }, WITHIN)
      .toBe(true)
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(UNREAD_BYTES_MAX)
  })

  test('by a client that reads: all are answered, in their order', async () => {
    const count = 2_000
    const paths = Array.from({ length: count }, (_, n) => (n % 7 === 0 ? '/v2/openapi.json' : `/nowhere-${n}`))
    const socket = open(paths.map((path) => get(path, 'Accept-Encoding: identity')).join(''))
    const bodies = await answers(socket, count)
    const document = (await ask('/v2/openapi.json')).body.toString()
    expect(bodies.map((body) => (body === document ? 'document' : body))).toEqual(
      paths.map((path) => (path === '/v2/openapi.json' ? 'document' : 'Not found\n')),
    )
  })

  test('with bodies, and with a token: the same', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `a${n}`.padEnd(1 + ((n * 37) % 900), 'x'))
    const token = `Authorization: Bearer ${server.adminToken}`
    const asking = (name: string) =>
      post('/graphql', JSON.stringify({ query: `{ ${name}: __typename }` }), 'Content-Type: application/json', token)
    const socket = open(names.map((name) => asking(name)).join(''))
    const bodies = await answers(socket, names.length)
    expect(bodies.map((body) => JSON.parse(body))).toEqual(names.map((name) => ({ data: { [name]: 'Query' } })))
  })

  test('without a Host, or with an expectation that nobody can meet: answered in their turn', async () => {
    const socket = open(`${get('/healthz')}${get('/healthz', 'Expect: wonders').repeat(3)}GET / HTTP/1.1\r\n\r\n`)
    const text = await new Promise<string>((resolve) => {
      let all = ''
      socket.on('data', (chunk) => (all += String(chunk))).on('close', () => resolve(all))
    })
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
    expect(statuses).toEqual([200, 417, 417, 417, 400])
  })

  test('of many connections: those beyond the common bound are closed, and others are served', async () => {
    // Nobody is closed for being slow.
    const patient = await startGraphQLServer()
    onTestFinished(() => patient.close())
    const bytes = LARGE.repeat(20) + get('/healthz').repeat(1_500)
    // Each keeps some 60 KB of them.
    const count = 600
    for (let n = 0; n < count; n++) await once(open(bytes, patient.url).pause(), 'connect')
    const left = () => serverEndsAt(patient.url).filter(({ destroyed }) => !destroyed).length
    await expect.poll(left, { ...WITHIN, interval: 200 }).toBeLessThan(count - 100)
    expect((await ask('/healthz', {}, patient.url)).status).toBe(200)
    expect(left()).toBeGreaterThan(100)
  })
})

describe('who asks nothing more', () => {
  test('with a token keeps the connection for longer than strangers do', async () => {
    const limits = { headersWithinMs: 15_000, requestWithinMs: 120_000, stalledAfterMs: 120_000 }
    const requestLimits = { ...limits, idleMs: { known: 120_000, strangers: 100 } }
    const brief = await startGraphQLServer({ requestLimits })
    onTestFinished(() => brief.close())
    const token = `Authorization: Bearer ${brief.adminToken}`
    const asking = post('/graphql', '{"query":"{ __typename }"}', 'Content-Type: application/json', token)
    const known = open(asking, brief.url)
    await answers(known, 1)
    const stranger = open(get('/healthz'), brief.url)
    await answers(stranger, 1)
    const end = serverEnd(stranger, brief.url)
    await expect.poll(() => end?.destroyed ?? true, WITHIN).toBe(true)
    const again = answers(known, 1)
    known.write(asking)
    expect(JSON.parse((await again)[0]!)).toEqual({ data: { __typename: 'Query' } })
  })
})

describe('who reads slowly', () => {
  test('with a token is not cut off as strangers are', async () => {
    const token = `Authorization: Bearer ${server.adminToken}`
    const { id } = await server.factory.session({ name: 'large' })
    await server.db.query('UPDATE sessions SET command = ARRAY[$2] WHERE id = $1', [id, 'x'.repeat(12_000_000)])
    const body = JSON.stringify({ query: `{ session(id: "${id}") { command } }` })
    const known = open(post('/graphql', body, 'Content-Type: application/json', token)).pause()
    await expect.poll(() => serverEnd(known)?.writableLength ?? 0, WITHIN).toBeGreaterThan(0)
    const stranger = open(LARGE.repeat(20)).pause()
    const end = await expect
      .poll(() => serverEnd(stranger), WITHIN)
      .toBeDefined()
      .then(() => serverEnd(stranger)!)
    await expect.poll(() => end.destroyed, WITHIN).toBe(true)
    known.resume()
    const answer = await answers(known, 1)
    expect(JSON.parse(answer[0]!).data.session.command[0]).toHaveLength(12_000_000)
  })
})

const DECODERS: Record<string, (body: Buffer) => Buffer> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
}

describe('public pages', () => {
  const QUERY = `/graphql?query=${encodeURIComponent(getIntrospectionQuery())}`
  test.each([
    ['the OpenAPI document', () => '/v2/openapi.json', {}],
    ['the schema', () => QUERY, {}],
    ['a page', () => '/chains', {}],
    ['a script', () => script, {}],
  ])('has a tag and comes compressed, and is not sent again: %s', async (_name, path, headers) => {
    const plain = await ask(path(), headers)
    expect(plain.status).toBe(200)
    const tag = String(plain.headers.etag)
    expect(tag).toMatch(/^(W\/)?"[^"]+"$/)
    expect(plain.headers.vary).toMatch(/Accept-Encoding/)
    for (const accepted of Object.keys(DECODERS)) {
      const packed = await ask(path(), { ...headers, 'accept-encoding': `${accepted}, gzip;q=0.5` })
      const encoding = packed.headers['content-encoding']!
      expect(packed.body.length).toBeLessThan(plain.body.length)
      expect(DECODERS[encoding]!(packed.body).equals(plain.body)).toBe(true)
      expect(packed.headers.etag).toBe(tag)
    }
    for (const known of [tag, `"other", ${tag}`, '*']) {
      const again = await ask(path(), { ...headers, 'if-none-match': known })
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, tag])
    }
    expect((await ask(path(), { ...headers, 'if-none-match': '"other"' })).status).toBe(200)
  })
})

describe('introspection', () => {
  test.each([
    ['as it is by default', {}],
    ['without descriptions', { descriptions: false }],
    [
      'with all that there is',
      {
        specifiedByUrl: true,
        directiveIsRepeatable: true,
        schemaDescription: true,
        inputValueDeprecation: true,
        oneOf: true,
      },
    ],
  ])('of the whole schema, %s', async (_name, options) => {
    const query = getIntrospectionQuery(options)
    const expected = executeSync({ schema, document: parse(query) }).data
    for (const text of [query, query.replaceAll(/\s+/g, ' '), query.replace('query IntrospectionQuery ', '')]) {
      expect(await server.query(text, {}, null)).toEqual({ status: 200, data: JSON.parse(JSON.stringify(expected)) })
    }
    const named = { query, operationName: 'IntrospectionQuery' }
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
      body: JSON.stringify(named),
    })
    expect(response.headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8')
    expect(response.headers.get('etag')).toMatch(/^W\/"/)
    // With a token it is executed, with the same answer.
    expect((await server.query(query)).data).toEqual(JSON.parse(JSON.stringify(expected)))
  })

  test.each([
    '{ __typename }',
    '{ __schema { queryType { name } } }',
    '{ __type(name: "Session") { name fields { name } } }',
    '{ __schema { directives { name locations } } }',
  ])('of a part that is small: %s', async (query) => {
    expect((await server.query(query, {}, null)).data).toEqual((await server.query(query)).data)
  })

  test.each([
    ['all types', '{ __schema { types { name } } }'],
    [
      'the same again and again',
      `{ ${Array.from({ length: 90 }, (_, n) => `a${n}: __schema { types { name } }`).join(' ')} }`,
    ],
    [
      'types of fields of types',
      '{ __type(name: "Session") { fields { type { fields { type { fields { name } } } } } } }',
    ],
    ['fragments', 'fragment T on __Type { name } { __schema { types { ...T } } }'],
    [
      'the whole schema twice',
      getIntrospectionQuery().replace('__schema {', 'b: __schema { types { name fields { name } } } __schema {'),
    ],
  ])('of more than that needs a token: %s', async (_name, query) => {
    expect(await server.query(query, {}, null)).toMatchObject({
      status: 401,
      errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    })
  })

  test('is limited by address before a body is read; who has a token is not concerned', async () => {
    const { createRates } = await import('../../../src/services/access/admission.ts')
    const limited = await startGraphQLServer({ strangers: createRates(0.2) })
    onTestFinished(() => limited.close())
    const statuses: number[] = []
    for (let n = 0; n < 4; n++) statuses.push((await limited.query('{ __typename }', {}, null)).status)
    expect(statuses).toEqual([200, 200, 429, 429])
    const { hostname, port } = new URL(limited.url)
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    socket.write(
      post('/graphql', '', 'Content-Type: application/json').replace('Content-Length: 0', 'Content-Length: 9000'),
    )
    const text = await new Promise((resolve) => socket.once('data', resolve))
    expect(String(text)).toMatch(/^HTTP\/1\.1 429 /)
    expect(String(text)).toMatch(/retry-after: /i)
    expect((await limited.query('{ __typename }')).status).toBe(200)
  })
})

describe('a WebSocket without a token', () => {
  async function openSocket(): Promise<WebSocket> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    onTestFinished(() => socket.terminate())
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('open', resolve))
    return socket
  }

  test('whose pings nobody reads the answers of is not kept', async () => {
    const socket = await openSocket()
    const { _socket: own } = socket as unknown as { _socket: Socket }
    const end = serverEnd(own)!
    own.pause()
    const ping = JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(12_000) } })
    let most = 0
    const sending = setInterval(() => {
      for (let n = 0; n < 200 && socket.bufferedAmount < 4_000_000; n++) socket.send(ping)
      most = Math.max(most, end.writableLength)
    })
    onTestFinished(() => clearInterval(sending))
    await expect.poll(() => socket.bufferedAmount > 3_000_000 || end.destroyed, WITHIN).toBe(true)
    expect(most).toBeLessThan(1024 * 1024)
  })

  test('that sends more than it has to is closed', async () => {
    const socket = await openSocket()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const { _socket: own } = socket as unknown as { _socket: Socket }
    own.cork()
    for (let n = 0; n < 2_000; n++) socket.send('{"type":"ping"}')
    own.uncork()
    await closed
  })
})

test('an upgrade that is pipelined is refused, and the answers before it are not mixed up with it', async () => {
  const socket = open(
    get('/readyz') +
      get(
        '/graphql',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${'a'.repeat(22)}==`,
      ),
  )
  const text = await new Promise<string>((resolve) => {
    let all = ''
    socket.on('data', (chunk) => (all += String(chunk))).on('close', () => resolve(all))
  })
  expect(text).not.toContain('101 Switching')
})

test('headers that nobody needs are not taken apart', () => {
  expect(acceptedEncoding(`${'a,'.repeat(8_000)}gzip`)).toBeNull()
  expect(acceptedEncoding('gzip')).toBe('gzip')
})
