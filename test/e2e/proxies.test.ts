import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { createClient as createSocket } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { whyNotInstalled } from '../support/distribution.ts'
import { commandLine } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { eventually, pause } from '../support/eventually.ts'
import { privateProxy, type PrivateProxy, type ProxyKind } from '../support/servers/private-proxy.ts'

/** The examples of proxies, run as they stand in front of two servers: what passes through them, and when. */

const CA = join(import.meta.dirname, '../support/tls/ca.cert.pem')
const KINDS: ProxyKind[] = ['haproxy', 'nginx']
/** In place of the 60 s of the examples, and longer than pings are apart. */
const TIMEOUT = '20s'
const IDLE_MS = 25_000
const FOLLOW = 'subscription Follow { sessionEvents(filter: { project: "default" }) { sessionId } }'
const CREATE = `mutation Create($input: CreateSessionsInput!) {
  createSessions(input: $input) {
    ... on CreateSessionsPayload { results { ... on CreateSessionPayload { session { sessionId } } } }
  }
}`
/** More than proxies take unless they are told otherwise. */
const MANY_SESSIONS = 20
const LARGE_BYTES = 100_000

let root: string
let database: Awaited<ReturnType<typeof emptyDatabase>>
let servers: ServerProcess[] = []
let token: string
let ca: Buffer

beforeAll(async () => {
  root = await temporaryDirectory('proxies')
  database = await emptyDatabase()
  ca = await readFile(CA)
  const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_EXECUTOR: 'noop' }
  const start = (roles: string) =>
    startServer({
      dataDir: join(root, 'data'),
      port: 0,
      onLog: () => undefined,
      env: { ...env, REPRISE_ROLES: roles },
    })
  servers = [await start('api,scheduler,agent'), await start('api')]
  token = await readAdminToken(join(root, 'data'))
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  await database?.drop()
})

describe.each(KINDS)('%s', (kind) => {
  const missing = whyNotInstalled(kind)
  let proxy: PrivateProxy

  beforeAll(async () => {
    if (missing !== null) return
    const hosts = servers.map(({ url }) => new URL(url).host)
    proxy = await privateProxy({ kind, directory: join(root, kind), servers: hosts, timeout: TIMEOUT })
  })
  afterAll(() => proxy?.[Symbol.asyncDispose]())

  describe.skipIf(missing !== null)(`as in its example ${missing ?? ''}`, () => {
    test('finds nothing wrong with it', () => {
      expect(proxy.verdict).toMatchObject({ status: 0 })
      expect(proxy.verdict.told).not.toMatch(/warn|error|alert|emerg/i)
    })

    test('queries have an id of the proxy, and may be as large as the server takes them', async () => {
      const first = await ask('{ eventCursor }', {}, { 'x-request-id': 'of-the-client' })
      const second = await ask('{ eventCursor }')
      expect([typeof first.data.eventCursor, typeof second.data.eventCursor]).toEqual(['string', 'string'])
      expect(first.id).toMatch(/^[\da-f-]{32,36}$/)
      expect(second.id).toMatch(/^[\da-f-]{32,36}$/)
      expect(first.id).not.toBe(second.id)
      expect(await create(MANY_SESSIONS, 'x'.repeat(LARGE_BYTES))).toHaveLength(MANY_SESSIONS)
    })

    test('subscriptions of both kinds outlive its timeouts, and have each event at once', async () => {
      const socket = createSocket({
        url: `${proxy.url.replace('https', 'wss')}/graphql`,
        webSocketImpl: TrustingSocket,
        retryAttempts: 0,
        connectionParams: { authorization: `Bearer ${token}` },
      })
      const overSocket = socket.iterate<any>({ query: FOLLOW })
      const overHttp = eventsOf(await post(FOLLOW, {}, { accept: 'text/event-stream' }))
      const [heardOverSocket, heardOverHttp] = [collect(overSocket), collect(overHttp)]
      await pause(IDLE_MS)
      const [made] = await create(1, 'true')
      // What the sessions before do may be heard, too.
      await eventually(() => heardOverSocket.has(made!) && heardOverHttp.has(made!))
      await overSocket.return!()
      await overHttp.return(undefined)
      await socket.dispose()
    })

    test('the command line follows a session', async () => {
      const reprise = commandLine({ REPRISE_URL: proxy.url, REPRISE_TOKEN: token, NODE_EXTRA_CA_CERTS: CA })
      expect(await reprise('run', '--', 'true')).toMatchObject({ status: 0 })
    })
  })

  /** The sessions of all events, as they come. */
  function collect(events: AsyncIterator<any>): Set<string> {
    const heard = new Set<string>()
    const next = async () => {
      const { value, done } = await events.next()
      if (done === true) return
      heard.add(value.data.sessionEvents.sessionId)
      await next()
    }
    next().catch(() => undefined)
    return heard
  }

  class TrustingSocket extends WebSocket {
    constructor(url: string, protocols: string) {
      super(url, protocols, { ca })
    }
  }

  /** The answer, as soon as its head is there. */
  function post(query: string, variables: object, more: Record<string, string>): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more }
    request(`${proxy.url}/graphql`, { method: 'POST', ca, headers, agent: false }, resolve)
      .on('error', reject)
      .end(JSON.stringify({ query, variables }))
    return promise
  }

  async function ask(query: string, variables = {}, headers = {}): Promise<{ data: any; id: string }> {
    const response = await post(query, variables, headers)
    const text = (await response.setEncoding('utf8').toArray()).join('')
    const { data, errors } = JSON.parse(text)
    expect(errors).toBeUndefined()
    return { data, id: String(response.headers['x-request-id']) }
  }

  async function create(count: number, argument: string): Promise<string[]> {
    const sessions = Array.from({ length: count }, () => ({ name: 'one', command: ['true', argument] }))
    const { data } = await ask(CREATE, { input: { sessions } })
    return data.createSessions.results.map(({ session }: any) => session.sessionId)
  }
})

/** What the server sends as `event: next`. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<any, void> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    const parts = text.split('\n\n')
    text = parts.pop()!
    for (const part of parts) {
      if (part.startsWith('event: next')) yield JSON.parse(/^data: (.*)$/m.exec(part)![1]!)
    }
  }
}
