/** The connection of the client: operations of other people, and servers that redirect. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import { parse } from 'graphql'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  ApiError,
  ClientClosedError,
  ClientConfigurationError,
  type Connection,
  type ConnectionOptions,
  createConnection,
  type Progress,
} from '../../../src/client/connection/create-connection.ts'
import { type Client, createClient, HttpStatusError } from '../../../src/client/node/index.ts'
import { TypedDocumentString } from '../../../src/client/operations.generated.ts'
import { type FaultProxy, startFaultProxy } from '../../support/agents/fault-proxy.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})

afterAll(() => server?.close())

describe('operations of others', () => {
  let proxy: FaultProxy
  let connection: Connection
  let progress: Progress[]

  const retry = { reconnect: { minSeconds: 0.01, maxSeconds: 0.1 }, network: { minSeconds: 0.05, maxSeconds: 0.1 } }
  beforeAll(async () => {
    proxy = await startFaultProxy(server.url)
  })
  afterAll(async () => {
    await proxy?.close()
  })

  beforeEach(() => {
    progress = []
    const onProgress = (step: Progress) => progress.push(step)
    connection = createConnection({ url: proxy.url, token: server.adminToken, onProgress, retry })
  })

  afterEach(() => connection.close())

  const Named = /* GraphQL */ `
    query Named($name: String!) {
      sessions(filter: { name: { equals: $name } }) {
        edges {
          node {
            name
          }
        }
      }
    }
  `
  interface NamedData {
    sessions: { edges: { node: { name: string } }[] }
  }

  const Create =
    'mutation Create($name: String!) { createSession(input: { name: $name, command: ["true"] }) { __typename } }'
  const create = (name: string, on = connection) => on.request(Create, { name })

  const cursor = async () => (await connection.request<{ eventCursor: string }>('{ eventCursor }')).eventCursor

  const Created = /* GraphQL */ `
    subscription Created($since: String) {
      happened: sessionEvents(filter: { types: [CREATED] }, after: $since) {
        cursor
        session {
          name
        }
      }
    }
  `
  interface CreatedData {
    happened: { cursor: string; session: { name: string } }
  }

  test('typed nodes, typed texts and plain texts are requests, with typed answers', async () => {
    await create('mine')
    const variables = { name: 'mine' }
    const node: TypedDocumentNode<NamedData, { name: string }> = parse(Named)
    const text = new TypedDocumentString<NamedData, { name: string }>(Named)
    const answers = [
      await connection.request(node, variables),
      await connection.request(text, variables),
      await connection.request<NamedData>(Named, variables),
    ]
    expect(answers.map(({ sessions }) => sessions.edges[0]!.node.name)).toEqual(['mine', 'mine', 'mine'])
    expect(await connection.request('{ now }')).toEqual({ now: expect.any(String) })
    await expect(connection.request('subscription S { changes { cursor } }')).rejects.toThrow(ClientConfigurationError)
  })

  test('a field that the role may not read is reported by its path, with the rest of the answer', async () => {
    const token = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
    await using viewer = connected({ token })
    const failure = await viewer.connection
      .request('{ now tokens { edges { node { name } } } }')
      .catch((error) => error)
    expect(failure).toBeInstanceOf(ApiError)
    expect(failure).toMatchObject({
      code: 'FORBIDDEN',
      data: { now: expect.any(String), tokens: null },
      faults: [{ path: ['tokens'], message: expect.any(String), extensions: { code: 'FORBIDDEN' } }],
    })
  })

  test('a stream carries its cursor across connections, under whatever names', async () => {
    const seen: string[] = []
    const events = connection.stream<CreatedData>(Created, { since: await cursor() })
    // Before the first event there is no cursor but the one that it began with.
    let first: ReturnType<typeof events.next> | undefined = events.next()
    const next = async (): Promise<string> => {
      const { value } = await (first ?? events.next())
      first = undefined
      // The cursor is before the oldest transaction that ran, and so may be before a session of an earlier test.
      return value.happened.session.name === 'mine' ? next() : value.happened.session.name
    }
    await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), 40_000)
    for (const name of ['a', 'b', 'c']) {
      await proxy.refuse()
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), 40_000)
      await using direct = connected({ url: server.url })
      for (const part of ['1', '2']) await create(`${name}${part}`, direct.connection)
      await proxy.listen()
      for (const _part of ['1', '2']) seen.push(await next())
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), 40_000)
    }
    expect(seen).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2'])
    expect(progress.filter(({ kind }) => kind === 'reconnect').length).toBeGreaterThanOrEqual(3)
    await connection.close()
    await expect(events.next()).rejects.toThrow(ClientClosedError)
  })

  test('a stream that would miss something is refused', async () => {
    const refused = async (text: string, variables: object, message: RegExp) => {
      const failure = await (async () => connection.stream(text, { ...variables }).next())().catch((error) => error)
      expect(failure).toBeInstanceOf(ClientConfigurationError)
      expect(failure.message).toMatch(message)
    }
    await refused('subscription S { sessionEvents { cursor } }', {}, /^S cannot be resumed: .* `after: \$after`$/)
    await refused(Created, {}, /^Created needs the variable \$since/)
    await refused('query Q { now }', {}, /A query is not a stream/)
    const after = await cursor()
    await create('without cursor')
    await refused('subscription S($after: String) { changes(after: $after) { missed } }', { after }, /`cursor`/)
  })

  test('without a token nothing is sent in its place: a browser adds its cookie by itself', async () => {
    const requests: { url: string; init: RequestInit }[] = []
    const frames: string[] = []
    class SeenWebSocket extends WebSocket {
      override send(data: string): void {
        frames.push(data)
        super.send(data)
      }
    }
    const seenFetch = async (url: string | URL | Request, init?: RequestInit) => {
      requests.push({ url: (url as URL).href, init: init! })
      return fetch(url, init)
    }
    await using stranger = connected({ token: undefined, fetch: seenFetch, webSocket: SeenWebSocket })
    await expect(stranger.connection.request('{ now }')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const events = stranger.connection.stream(Created, { since: 'MDow' })
    await expect(events.next()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(requests.map(({ url }) => url)).toEqual([`${proxy.url}/graphql`])
    expect(Object.keys(requests[0]!.init.headers!).toSorted()).toEqual(['accept', 'content-type'])
    // `omit` would leave the cookie out.
    expect(requests[0]!.init.credentials).toBeUndefined()
    expect(JSON.parse(frames[0]!)).toEqual({ type: 'connection_init', payload: {} })
  })

  function connected(options: ConnectionOptions) {
    const made = createConnection({ url: proxy.url, token: server.adminToken, retry, ...options })
    return { connection: made, [Symbol.asyncDispose]: made.close }
  }
})

describe('redirects', () => {
  let gate: Redirector
  let clients: Client[]

  interface Redirector {
    url: string
    /** The requests: method, path and token. */
    asked: string[]
    /** The status and Location of its answers. */
    answer: [number, string]
    close(): Promise<void>
  }

  async function startRedirector(): Promise<Redirector> {
    const asked: string[] = []
    const listener: Server = createServer((request: IncomingMessage, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no token'}`)
      request.resume().on('end', () => {
        const [status, location] = redirector.answer
        response.writeHead(status, { location }).end()
      })
    })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const redirector: Redirector = {
      url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
      asked,
      answer: [307, '/'],
      async close() {
        listener.closeAllConnections()
        await new Promise((resolve) => listener.close(resolve))
      },
    }
    return redirector
  }
  beforeEach(async () => {
    clients = []
    gate = await startRedirector()
  })
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.close()))
    await gate.close()
  })

  const TRANSPORTS = [
    ['its own connections', {}],
    ['fetch', { fetch }],
  ] as const

  describe.each(TRANSPORTS)('over %s', (_name, options) => {
    function clientOf(...urls: string[]): Client {
      const client = createClient({ urls, token: server.adminToken, retry: false, ...options })
      clients.push(client)
      return client
    }

    test.each([307, 308])('%i to a configured server is followed, with method, body and token', async (status) => {
      gate.answer = [status, `${server.url}/graphql`]
      const { session } = await clientOf(gate.url, server.url).createSession({
        name: `by-${status}`,
        command: ['true'],
      })
      const { rows } = await server.db.query('SELECT name FROM sessions WHERE id = $1', [session.sessionId])
      expect(rows).toEqual([{ name: `by-${status}` }])
      expect(gate.asked).toEqual([`POST /graphql Bearer ${server.adminToken}`])
    })

    test.each([307, 308])('%i to another server is not followed, and the error names that server', async (status) => {
      const stranger = await startRedirector()
      try {
        gate.answer = [status, `${stranger.url.replace('http://', 'http://user:pass@')}/graphql?token=secret`]
        const asking = clientOf(gate.url, server.url).projects()[Symbol.asyncIterator]().next()
        const error: unknown = await asking.catch((refusal: unknown) => refusal)
        expect(error).toBeInstanceOf(HttpStatusError)
        expect(error).toMatchObject({
          code: `HTTP_${status}`,
          message: `${gate.url} responded with ${status} and redirects to ${stranger.url}/graphql, which is not one of the configured servers; give the client this address`,
        })
        expect(stranger.asked).toEqual([])
      } finally {
        await stranger.close()
      }
    })

    test.each([301, 302, 303])('%i would change the request: it is reported, not followed', async (status) => {
      gate.answer = [status, `${server.url}/graphql`]
      const asking = clientOf(gate.url, server.url).viewer()
      await expect(asking).rejects.toThrow(
        `${gate.url} responded with ${status} and redirects to ${server.url}/graphql, which is not followed; give the client this address`,
      )
    })

    test('a circle ends', async () => {
      gate.answer = [307, '/graphql?again']
      await expect(clientOf(gate.url).viewer()).rejects.toThrow(
        `redirects to ${gate.url}/graphql, after 5 other redirects`,
      )
      expect(gate.asked).toHaveLength(6)
    })

    test('a redirect to nowhere is an answer that is none', async () => {
      gate.answer = [307, 'http://[']
      await expect(clientOf(gate.url).viewer()).rejects.toMatchObject({ code: 'HTTP_307' })
    })
  })

  test('the command line reports the new address of a server', async () => {
    gate.answer = [308, 'http://127.0.0.1:9/graphql']
    const reprise = commandLine({ REPRISE_URL: gate.url, REPRISE_TOKEN: server.adminToken })
    const { status, stderr } = await reprise('list')
    expect(status).toBe(1)
    expect(stderr).toContain('redirects to http://127.0.0.1:9/graphql, which is not one of the configured servers')
  })
})
