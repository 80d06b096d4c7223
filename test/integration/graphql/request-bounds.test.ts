/** Requests that cost little to send and much to read: each is refused before it keeps others waiting. */
import { connect as connectSocket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { threadTimeOf, watchEventLoop, type EventLoopDelay } from '../../support/servers/event-loop-delay.ts'
import { startSecondServer } from '../../support/servers/second-server.ts'
import type { ServerProcess } from '../../../src/cli/demo/server-process.ts'

let server: TestServer
/** On the same database, in a process of its own: what the test does itself must not count. */
let target: ServerProcess
let member: string
let viewer: string
let loop: EventLoopDelay

beforeAll(async () => {
  server = await startGraphQLServer()
  const tenant = { projectId: '00000000-0000-7000-8000-000000000002' }
  member = await server.factory.token({ role: 'MEMBER', ...tenant })
  viewer = await server.factory.token({ role: 'VIEWER', ...tenant })
  target = await startSecondServer(server.database)
  // The first request also loads and compiles code, which does not count.
  await post(filtered({ status: ['PENDING'] }))
  loop = watchEventLoop(target.url, threadTimeOf(target.pid))
})
afterAll(async () => {
  await loop?.stop()
  await target?.stop()
  await server?.close()
})
beforeEach(() => loop.begin())
afterEach(() => loop.expectFree())

const ID = '00000000-0000-7000-8000-000000000002'
const FILTERED = 'query ($f: SessionFilter) { sessions(filter: $f) { totalCount } }'
const CREATE = 'mutation ($i: CreateSessionsInput!) { createSessions(input: $i) { __typename } }'
const times = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, n) => part(n)).join(' ')
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]))
const filtered = (f: unknown) => JSON.stringify({ query: FILTERED, variables: { f } })
const nested = (depth: number) =>
  `{"query":${JSON.stringify(FILTERED)},"variables":{"f":${'{"AND":['.repeat(depth)}${']}'.repeat(depth)}}}`
const document = (query: string) => JSON.stringify({ query })

async function post(body: string, token: string | null = member, headers: Record<string, string> = {}) {
  const response = await fetch(`${target.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...headers },
    body,
  })
  const text = await response.text()
  return { status: response.status, bytes: Buffer.byteLength(text), errors: JSON.parse(text).errors as any[], text }
}

const TOO_LARGE = 'REQUEST_TOO_LARGE'
const INVALID = 'VALIDATION_FAILED'

const HOSTILE: [name: string, body: () => string, code: string, message: string | RegExp][] = [
  [
    '29 kB of unknown keys',
    () => filtered(keys(2_600)),
    INVALID,
    /^Variable "\$f" got invalid value; Field "k0" is not/,
  ],
  ['many keys', () => filtered(keys(10_001)), TOO_LARGE, 'it has more than 10000 keys'],
  [
    'a list of 100,000 values',
    () => filtered({ status: Array(100_000).fill(1) }),
    TOO_LARGE,
    /has more than 100000 values/,
  ],
  [
    '200 kB of bad enum values',
    () => filtered({ status: Array(18_000).fill('BAD') }),
    INVALID,
    /got invalid value "BAD"/,
  ],
  [
    'a list of objects for values',
    () => filtered({ status: Array.from({ length: 7_000 }, () => ({ a: 'x' })) }),
    INVALID,
    /at "f.status\[0\]"/,
  ],
  ['3,000 nested ANDs', () => nested(3_000), TOO_LARGE, 'it is nested more than 32 levels deep'],
  ['nothing but brackets', () => '['.repeat(250_000), TOO_LARGE, 'it is nested more than 32 levels deep'],
  ['8 MB of keys', () => `{"a":{${times(600_000, (n) => `"k${n}":1,`)}`, TOO_LARGE, 'it has more than 50000 keys'],
  ['8 MB of NUL', () => '\0'.repeat(8_000_000), 'MALFORMED_REQUEST', 'The body is not JSON.'],
  ['9 MB', () => ' '.repeat(9_000_000), TOO_LARGE, 'the limit is 8 MiB'],
  [
    '8 MB for anything but createSessions',
    () => `${document('{__typename}')}${' '.repeat(300_000)}`,
    TOO_LARGE,
    '256 KiB',
  ],
  ['a long name', () => document(`{${'x'.repeat(8_000_000)}}`), INVALID, 'and the limit is 65536'],
  ['commas', () => document(`${','.repeat(8_000_000)}{__typename}`), INVALID, 'and the limit is 65536'],
  [
    'a name as long as it may be',
    () => document(`{${'x'.repeat(60_000)}}`),
    'GRAPHQL_VALIDATION_FAILED',
    'Cannot query',
  ],
  ['nested fields', () => document(`${'{a'.repeat(1_900)}${'}'.repeat(1_900)}`), INVALID, 'more than 64 brackets'],
  ['nested lists', () => document(`{node(id:${'['.repeat(1_900)}${']'.repeat(1_900)}){id}}`), INVALID, '64 brackets'],
  [
    'brackets beside a text that looks closed',
    () => document(`{a(b:"\\"]",c:${'['.repeat(70)}`),
    INVALID,
    '64 brackets',
  ],
  ['one field again and again', () => document(`{${'__typename '.repeat(3_900)}}`), INVALID, '3900 fields'],
  [
    'fields that are compared',
    () => document(`{${times(300, () => `session(id:"${ID}"){name status}`)}}`),
    INVALID,
    '900 fields',
  ],
  [
    'fragments within fragments',
    () => document(`{...F0} ${times(300, (n) => `fragment F${n} on Query{...F${n + 1} ...F${n + 1}}`)}`),
    INVALID,
    '902 fragments',
  ],
  ['variables', () => document(`query(${times(900, (n) => `$v${n}:Int`)}){__typename}`), INVALID, '900 variables'],
  [
    'unknown fields',
    () => document(`{${times(500, (n) => `retryPolicyPreviewOf${n}`)}}`),
    'GRAPHQL_VALIDATION_FAILED',
    /^Cannot query/,
  ],
]

test.each(HOSTILE)('%s', async (_name, body, code, message) => {
  const sent = body()
  await loop.begin()
  const { errors, bytes } = await post(sent)
  expect(errors.length).toBeLessThanOrEqual(51)
  expect(errors[0].extensions.code).toBe(code)
  if (typeof message === 'string') expect(errors[0].message).toContain(message)
  else expect(errors[0].message).toMatch(message)
  // Nothing of it comes back but names.
  expect(bytes).toBeLessThan(64_000)
})

test.each(HOSTILE)('%s, over a WebSocket', async (_name, body, code) => {
  const sent = body()
  await loop.begin()
  const socket = new WebSocket(`${target.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.addEventListener('close', (event) => resolve(`closed ${event.code}`))
  socket.addEventListener('message', ({ data }) => {
    const { type, payload } = JSON.parse(data) as { type: string; payload: any }
    if (type === 'connection_ack') socket.send(`{"id":"1","type":"subscribe","payload":${sent}}`)
    else if (payload) resolve(`error ${(payload.errors ?? payload)[0].extensions.code}`)
  })
  socket.addEventListener('open', () =>
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${member}` } })),
  )
  // Text that is no message of the protocol, or too long for one, closes the connection.
  expect(await promise).toMatch(new RegExp(`^(error (${code}|${TOO_LARGE})|closed 4400|closed 1009)$`))
  socket.close()
})

describe('a large request', () => {
  const sessions = (count: number, bytes: number, values: number) => ({
    sessions: Array.from({ length: count }, (_, n) => ({
      name: `s${n}`,
      command: ['true', ...Array<string>(values).fill('x')],
      environ: [{ name: 'A', value: 'x'.repeat(bytes) }],
    })),
  })

  test.each([
    ['bytes', sessions(1_000, 7_500, 0)],
    ['values', sessions(1_000, 0, 85)],
  ])('may create sessions: %s', async (_name, i) => {
    const body = JSON.stringify({ query: CREATE, variables: { i } })
    // The first ones spend most of their time on compiling.
    for (let n = 0; n < 3; n++) await post(body)
    await loop.begin()
    expect(JSON.parse((await post(body)).text)).toEqual({
      data: { createSessions: { __typename: 'CreateSessionsPayload' } },
    })
  })

  test('may not do anything beside it', async () => {
    const query = `${CREATE.slice(0, -1)} createToken(input: { name: "a", role: VIEWER }) { __typename } }`
    const body = JSON.stringify({ query, variables: { i: sessions(100, 5_000, 0) } })
    expect((await post(body)).errors[0].extensions.code).toBe(TOO_LARGE)
  })

  test('has no more values than sessions need', async () => {
    const { errors } = await post(JSON.stringify({ query: CREATE, variables: { i: sessions(1_000, 0, 100) } }))
    expect(errors?.[0]?.message).toBe('The request is too large: it has more than 100000 values.')
  })

  test('of a user who may not create sessions is not read', async () => {
    const body = JSON.stringify({ query: CREATE, variables: { i: sessions(100, 5_000, 0) } })
    expect(await post(body, viewer)).toMatchObject({
      status: 413,
      errors: [{ message: 'The request is too large: the limit is 256 KiB.' }],
    })
  })
})

describe('a stranger', () => {
  const introspection = document('{ __schema { queryType { name } } }')

  test('may introspect, in 16 kB', async () => {
    expect((await post(introspection, null)).status).toBe(200)
    const { status, errors } = await post(`${introspection}${' '.repeat(17_000)}`, null)
    expect([status, errors[0].extensions.code]).toEqual([401, 'UNAUTHENTICATED'])
  })

  test('is answered before its body has arrived', async () => {
    const strict = await startGraphQLServer({ introspectionForStrangers: false })
    const { hostname, port } = new URL(strict.url)
    const socket = connectSocket(Number(port), hostname)
    const heads = ['POST /graphql HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 1000000']
    socket.write(`${heads.join('\r\n')}\r\n\r\n{`)
    const answer = await new Promise((resolve) => socket.once('data', resolve))
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /)
    expect(String(answer)).toMatch(/www-authenticate: bearer/i)
    socket.destroy()
    await strict.close()
  })
})

describe('a message of a WebSocket', () => {
  const init = (bytes: number) => {
    const message = { type: 'connection_init', payload: { authorization: `Bearer ${member}`, more: '' } }
    message.payload.more = 'x'.repeat(bytes - JSON.stringify(message).length)
    return JSON.stringify(message)
  }
  const long = JSON.stringify({ id: '1', type: 'subscribe', payload: { query: `{ ${'x'.repeat(200_000)} }` } })

  async function heard(first: string, second: string): Promise<string> {
    const socket = new WebSocket(`${target.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const { promise, resolve } = Promise.withResolvers<string>()
    socket.addEventListener('close', ({ code }) => resolve(`closed ${code}`))
    socket.addEventListener('open', () => socket.send(first))
    socket.addEventListener('message', ({ data }) => {
      const { type, payload } = JSON.parse(data) as { type: string; payload: any }
      if (type === 'connection_ack') socket.send(second)
      else resolve(`${type} ${payload[0].message}`)
    })
    return promise.finally(() => socket.close())
  }

  test('has 16 kB until its token is known, and then what any request may have', async () => {
    expect(await heard(init(16_384), long)).toMatch(/^error The document has 200004 characters/)
    expect(await heard(init(16_385), long)).toBe('closed 1009')
    expect(await heard(long, long)).toBe('closed 1009')
    expect(await heard(init(1_000), long + ' '.repeat(100_000))).toBe('closed 1009')
  })
})

test.each([
  ['GET', '?query={__typename}&variables={'],
  ['GET', '?query={__typename}&extensions=nonsense'],
])('%s %s is refused as the client’s fault', async (method, search) => {
  const headers = { authorization: `Bearer ${member}`, accept: 'application/graphql-response+json' }
  const response = await fetch(`${target.url}/graphql${search}`, { method, headers })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'MALFORMED_REQUEST' } }] })
})

test('variables in a URL are bounded, too', async () => {
  const variables = JSON.stringify({ f: JSON.parse(`${'{"AND":['.repeat(40)}${']}'.repeat(40)}`) })
  const search = new URLSearchParams({ query: FILTERED, variables })
  const response = await fetch(`${target.url}/graphql?${search}`, { headers: { authorization: `Bearer ${member}` } })
  expect(response.status).toBe(413)
})

test('the server’s own answer to a body that is none has nothing of it', async () => {
  const { text } = await post('a secret that was pasted into the wrong window')
  expect(text).not.toMatch(/secret|originalError/)
})

test('afterwards a connection works as before', async () => {
  const connection = connect(target.url, member)
  expect(await connection.subscribe('{ sessions(first: 1) { totalCount } }').take(1)).toHaveLength(1)
  await connection.close()
})
