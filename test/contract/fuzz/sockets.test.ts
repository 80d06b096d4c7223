import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { schema } from '../../../src/graphql/schema.ts'
import { anyText } from '../../support/any-text.ts'
import { checkProperty } from '../../support/seeds.ts'
import { ANSWER_WITHIN_MS, type FuzzServer, startFuzzServer } from './fuzz-server.ts'
import { hostileAnything, hostileText } from './hostile-values.ts'
import { arbitraryOperation, rootTargets } from './operations.ts'
import { internalsIn } from './verdict.ts'

/** Bytes that are no proper request, or less than one, or more: written by hand on sockets. */
describe('raw sockets', () => {
  let server: FuzzServer

  beforeAll(async () => {
    server = await startFuzzServer({
      // Bytes that are written at once arrive within this time on any machine.
      requestLimits: { headersWithinMs: 2_000, requestWithinMs: 4_000, stalledAfterMs: 15_000 },
    })
  })
  afterAll(() => server?.close())

  interface Said {
    text: string
    /** The lifetime of the connection, ms. */
    ms: number
  }

  /** All that the server says to these bytes until it closes; `patient` says nothing more, and does not hang up. */
  async function say(bytes: string | Buffer, patient = false): Promise<Said> {
    const { hostname, port } = new URL(server.url)
    const { promise, resolve, reject } = Promise.withResolvers<Said>()
    const start = performance.now()
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`not closed within ${ANSWER_WITHIN_MS} ms: ${Buffer.concat(chunks).toString().slice(0, 300)}`))
    }, ANSWER_WITHIN_MS)
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text: Buffer.concat(chunks).toString('latin1'), ms: performance.now() - start })
    }
    // A write that continues after the server has closed ends with an error of the socket.
    socket
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', end)
      .on('error', end)
    socket.write(bytes)
    if (!patient) socket.end()
    return promise
  }

  const get = (path: string, ...headers: string[]) =>
    [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
  const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))

  test('bytes at random are answered with 400 or not at all', { timeout: 600_000 }, async () => {
    const line = fc.oneof(
      fc.constantFrom(...REQUEST_LINES),
      anyText({ maxLength: 60 }).map((text) => text.replaceAll(/[\r\n]/g, '')),
    )
    const header = fc.oneof(
      fc.constantFrom(...HEADERS),
      fc
        .tuple(fc.constantFrom('X', 'Host', 'Accept', 'Content-Length'), anyText({ maxLength: 40 }))
        .map(([name, value]) => `${name}: ${value}`),
    )
    const bytes = fc
      .tuple(
        line,
        fc.array(header, { maxLength: 4 }),
        fc.constantFrom('\r\n\r\n', '\n\n', '\r\n', ''),
        fc.uint8Array({ maxLength: 80 }),
      )
      .map(([first, headers, end, rest]) => Buffer.concat([Buffer.from([first, ...headers].join('\r\n') + end), rest]))
    await checkProperty(
      fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 3 }), async (requests) => {
        const asked = Buffer.concat(requests)
        const { text } = await say(asked)
        expect(statusesIn(text).filter((status) => status >= 500 && status !== 505)).toEqual([])
        expect(internalsIn(text, asked.toString('latin1'))).toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  const REQUEST_LINES = [
    'GET /v2/sessions HTTP/1.1',
    'GET /graphql HTTP/1.1',
    'POST /graphql HTTP/1.1',
    'POST /agent/v1/sync HTTP/1.1',
    'GET //localhost/graphql HTTP/1.1',
    'GET http://[::1/v2/sessions HTTP/1.1',
    'GET http://user:pass@localhost/graphql?query={__typename} HTTP/1.1',
    'GET /v2/%zz HTTP/1.1',
    'GET /v2/sessions/%00?%ff=%fe HTTP/1.1',
    'GET /v2\\sessions HTTP/1.1',
    'GET * HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'CONNECT localhost:80 HTTP/1.1',
    'TRACE / HTTP/1.1',
    'GET /metrics HTTP/1.0',
    'GET /readyz HTTP/0.9',
    'GET /graphql?query=%7B HTTP/1.1',
    'PRI * HTTP/2.0',
  ]

  const HEADERS = [
    'Host: localhost',
    'Host:',
    'Host: a b',
    'Host: [::1',
    'Host: localhost, localhost',
    'Content-Length: 5',
    'Content-Length: -1',
    'Content-Length: 99999999999999999999',
    'Content-Length: 5, 6',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, identity',
    'Content-Type: application/json',
    'Content-Encoding: gzip',
    'Authorization: Bearer x',
    'Expect: 100-continue',
    'Expect: the-unexpected',
    'Connection: upgrade',
    'Upgrade: websocket',
    'Upgrade: h2c',
    'Sec-WebSocket-Key: x',
    'Sec-WebSocket-Version: 99',
    'Sec-WebSocket-Protocol: graphql-transport-ws',
    'Range: bytes=0-0',
    ' folded: header',
  ]

  describe('a host that is none', () => {
    test.each(['a b', '[::1', 'a/b', ':80', 'localhost:99999999', '@'])('%s', async (host) => {
      for (const path of ['/graphql?query=%7B__typename%7D', '/v2/sessions', '/metrics', '/']) {
        const { text } = await say(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
        expect([path, statusesIn(text).filter((status) => status >= 500)]).toEqual([path, []])
        expect(internalsIn(text)).toEqual([])
      }
    })
  })

  test('requests in a row on one connection are answered in their order', async () => {
    const paths = ['/healthz', '/nowhere', '/v2/sessions', '/healthz', '/v2/openapi.json', '/']
    const { text } = await say(paths.map((path) => get(path)).join('') + get('/healthz', 'Connection: close'), true)
    expect(statusesIn(text)).toEqual([200, 404, 401, 200, 200, 200, 200])
  })

  test('headers that are too large are refused', async () => {
    const { text } = await say(get('/healthz', `X-Large: ${'x'.repeat(100_000)}`), true)
    expect(statusesIn(text)).toEqual([431])
    const many = Array.from({ length: 3_000 }, (_, n) => `X-${n}: 1`)
    expect(statusesIn((await say(get('/healthz', ...many), true)).text)[0]).toBeOneOf([200, 431])
  })

  describe.concurrent('clients that dawdle', () => {
    test.each([
      ['a request line', 'GET /healthz HT'],
      ['half of the headers', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half'],
      [
        'half a body for REST',
        `POST /v2/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`,
      ],
      [
        'half a body for GraphQL',
        `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"q`,
      ],
      [
        'half a chunk',
        `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"q`,
      ],
    ])('a client that stops in %s is let go', async (_name, bytes) => {
      const { text } = await say(bytes, true)
      expect(statusesIn(text).filter((status) => status >= 500)).toEqual([])
    })

    test.each(['/v2/sessions', '/graphql', '/agent/v1/sync'])(
      'half a body for %s, with a token, so that it is read',
      async (path) => {
        const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.adminToken}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`
        const { text } = await say(head, true)
        expect(statusesIn(text).filter((status) => status >= 500)).toEqual([])
        expect(internalsIn(text)).toEqual([])
        // A client that hangs up in the middle is no fault either.
        expect(internalsIn((await say(head)).text)).toEqual([])
      },
    )

    test('a client that sends its headers byte by byte is disconnected', async () => {
      const { hostname, port } = new URL(server.url)
      const socket = connect(Number(port), hostname)
      const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()).on('error', () => {}))
      socket.resume().write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n')
      let said = 0
      const drip = setInterval(() => socket.write(`X-${said++}: y\r\n`), 100)
      await closed
      clearInterval(drip)
      expect(said).toBeGreaterThan(3)
    })
  })

  test('afterwards the server is well', () => server.expectWell())

  test.each(['/healthz', '/graphql', '/v2/sessions', '/agent/v1/sync'])(
    'two Host headers are refused at %s',
    async (path) => {
      const { text } = await say(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nhost: other\r\nConnection: close\r\n\r\n`)
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
    },
  )
})

/** Messages that are none of the protocol, or none that fit, and subscriptions with hostile arguments. */
describe('WebSockets', () => {
  let server: FuzzServer

  beforeAll(async () => {
    server = await startFuzzServer({ webSockets: { initTimeoutMs: 500 } })
  })
  afterAll(() => server?.close())

  /** A fault of the server's, by the protocol and by RFC 6455. */
  const FAULT_CODES = [1011, 1006, 4500]

  interface Heard {
    messages: string[]
    code: number
  }

  /** Sends these one after the other, whatever is answered, and waits until `enough`, or until the server closes. */
  async function tell(frames: readonly (string | Buffer)[], enough: (messages: string[]) => boolean): Promise<Heard> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const { promise, resolve, reject } = Promise.withResolvers<Heard>()
    const messages: string[] = []
    const timer = setTimeout(() => {
      socket.terminate()
      reject(new Error(`neither answered nor closed: ${messages.join()}`))
    }, ANSWER_WITHIN_MS)
    socket.on('open', () => frames.forEach((frame) => socket.send(frame)))
    socket.on('message', (data: Buffer) => {
      messages.push(String(data))
      if (enough(messages)) socket.close(1000)
    })
    socket
      .on('error', () => {})
      .on('close', (code) => {
        clearTimeout(timer)
        resolve({ messages, code })
      })
    return promise
  }

  const init = () =>
    JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${server.adminToken}` } })
  const subscribe = (payload: unknown, id: unknown = '1') => JSON.stringify({ id, type: 'subscribe', payload })
  /** The answer to it tells that all before has been looked at. */
  const PING = JSON.stringify({ type: 'ping' })
  const ponged = (messages: string[]) => messages.some((message) => message.includes('"pong"'))

  function faultsOf({ messages, code }: Heard, asked: string): unknown[] {
    return [
      ...messages.flatMap((message) => internalsIn(message, asked)),
      ...FAULT_CODES.filter((each) => each === code),
    ]
  }

  test('messages of all kinds', { timeout: 600_000 }, async () => {
    const type = fc.constantFrom(
      'connection_init',
      'ping',
      'pong',
      'subscribe',
      'next',
      'error',
      'complete',
      'nonsense',
    )
    const payload = fc.oneof(
      hostileAnything,
      fc.record({
        query: fc.oneof(fc.constant('subscription { sessionEvents { cursor } }'), hostileText),
        variables: hostileAnything,
      }),
      fc.record({ query: fc.constant('{ eventCursor }'), operationName: hostileAnything, extensions: hostileAnything }),
      fc.record({ authorization: hostileAnything }),
    )
    const message = fc
      .record({ type, id: fc.oneof(fc.constant('1'), hostileText), payload }, { requiredKeys: ['type'] })
      .map((value) => JSON.stringify(value))
    const frame = fc.oneof(
      { weight: 8, arbitrary: message },
      hostileAnything.map((value) => JSON.stringify(value)),
      hostileText,
      fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    )
    const codes = new Set<number>()
    await checkProperty(
      fc.asyncProperty(fc.boolean(), fc.array(frame, { maxLength: 4 }), async (known, frames) => {
        const heard = await tell([...(known ? [init()] : []), ...frames, PING], ponged)
        codes.add(heard.code)
        expect(faultsOf(heard, frames.join())).toEqual([])
      }),
      { numRuns: 300 },
    )
    // Bad messages and unknown people, each with the protocol's code.
    expect([...codes]).toEqual(expect.arrayContaining([4400, 4401]))
  })

  test('subscriptions with hostile arguments', { timeout: 600_000 }, async () => {
    const { tenant, cursors } = server
    for (const target of rootTargets(schema, schema.getSubscriptionType()!, 'subscription')) {
      await checkProperty(
        fc.asyncProperty(arbitraryOperation(target, { values: tenant.values, cursors }), async (operation) => {
          const heard = await tell([init(), subscribe(operation), PING], ponged)
          expect(faultsOf(heard, JSON.stringify(operation))).toEqual([])
        }),
        { numRuns: 15 },
      )
    }
  })

  test('a frame that is too large closes only its own connection', async () => {
    const { code } = await tell([init(), 'x'.repeat(9 * 1024 * 1024)], () => false)
    expect(code).toBe(1009)
  })

  test('afterwards the server is well, and nobody is left listening', async () => {
    await expect.poll(() => server.bus.subscribers, { timeout: ANSWER_WITHIN_MS }).toBe(0)
    await server.expectWell()
  })
})
