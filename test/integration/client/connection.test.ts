/** Operations of others, over the connection that the whole client is built on. */
import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import { parse } from 'graphql'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import {
  ApiError,
  ClientClosedError,
  ClientConfigurationError,
  createConnection,
  type Connection,
  type ConnectionOptions,
  type Progress,
} from '../../../src/client/connection/create-connection.ts'
import { TypedDocumentString } from '../../../src/client/operations.generated.ts'
import { startFaultProxy, type FaultProxy } from '../../support/agents/fault-proxy.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
let proxy: FaultProxy
let connection: Connection
let progress: Progress[]

const retry = { reconnect: { minSeconds: 0.01, maxSeconds: 0.1 }, network: { minSeconds: 0.05, maxSeconds: 0.1 } }

beforeAll(async () => {
  server = await startGraphQLServer()
  proxy = await startFaultProxy(server.url)
})

afterAll(async () => {
  await proxy?.close()
  await server?.close()
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

test('what a role may not read is told by its path, with the rest of the answer', async () => {
  const token = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
  await using viewer = connected({ token })
  const failure = await viewer.connection.request('{ now tokens { edges { node { name } } } }').catch((error) => error)
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
  const first = events.next()
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), 40_000)
  for (const name of ['a', 'b', 'c']) {
    await proxy.refuse()
    await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), 40_000)
    await using direct = connected({ url: server.url })
    for (const part of ['1', '2']) await create(`${name}${part}`, direct.connection)
    await proxy.listen()
    for (const _part of ['1', '2']) {
      const { value } = seen.length === 0 ? await first : await events.next()
      seen.push(value.happened.session.name)
    }
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
