import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { createClient as createSocket } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { heapFlags, readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { whyNotInstalled } from '../support/distribution.ts'
import { cleanEnvironment, commandLine, MAIN } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { eventually, pause } from '../support/eventually.ts'
import { privateProxy, type PrivateProxy, type ProxyKind } from '../support/servers/private-proxy.ts'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import pg from 'pg'
import { createClient } from '../../src/client/node/index.ts'
import { privatePgbouncer } from '../support/database/private-pgbouncer.ts'

describe('proxies', () => {
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
  /** More than proxies accept by default. */
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

  /** Returns the payloads that the server sends as `event: next`. */
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
})

describe('pgbouncer', () => {
  /** A real PgBouncer between real servers and their database, with few connections to share. */

  const missing = whyNotInstalled('pgbouncer')
  /** Many more than the pooler has connections: each is used by all in turn. */
  const AT_ONCE = 60
  const CONNECTIONS_MAX = 6

  let root: string
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let made = 0
  const servers: ServerProcess[] = []

  beforeAll(async () => {
    root = await temporaryDirectory('pgbouncer')
    database = await emptyDatabase()
    await writeFile(join(root, 'secrets-key'), randomBytes(32).toString('base64'), { mode: 0o600 })
  })
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()))
  })
  afterAll(() => database.drop())

  function pooler(mode: 'session' | 'transaction', connectionsMax = CONNECTIONS_MAX) {
    const directory = join(root, `pooler-${made++}`)
    return privatePgbouncer({ directory, connectionString: database.connectionString, mode, connectionsMax })
  }

  async function run(environment: Record<string, string>) {
    const env = cleanEnvironment({ REPRISE_PORT: '0', REPRISE_DATA_DIR: join(root, `data-${made++}`), ...environment })
    const child = spawn(process.execPath, [...heapFlags(), MAIN, 'serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const log: Buffer[] = []
    child.stderr.on('data', (chunk: Buffer) => log.push(chunk))
    const [status] = (await once(child, 'close')) as [number | null]
    return { status, log: Buffer.concat(log).toString() }
  }

  /** In the directory that has the admin token of the database. */
  async function startWith(environment: Record<string, string>) {
    const dataDir = join(root, 'data')
    const log: string[] = []
    const env = {
      REPRISE_EXECUTOR: 'noop',
      REPRISE_DATABASE_CONNECTIONS: '10',
      REPRISE_SECRETS_KEY_FILE: join(root, 'secrets-key'),
      ...environment,
    }
    const server = await startServer({ dataDir, port: 0, onLog: (line) => log.push(line), env })
    servers.push(server)
    return { url: server.url, token: await readAdminToken(dataDir), log }
  }

  /** Statements of every kind at once: each gets its own answer, and sessions run to their ends. */
  async function useIt({ url, token, log }: { url: string; token: string; log: readonly string[] }): Promise<void> {
    // On a busy machine a request may be told to come again, which is not what this is about.
    await using client = createClient({ url, token, retry: { http: { total: 50 } } })
    const after = await client.eventCursor()
    const created = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, n) => {
        const { session } = await client.createSession({
          name: `pooled-${n}`,
          command: ['true'],
          environ: [{ name: 'N', value: `${n}` }],
        })
        return { n, sessionId: session.sessionId }
      }),
    )
    const read = created.flatMap(({ n, sessionId }) => [
      client.session(sessionId).then(({ name }) => expect(name).toBe(`pooled-${n}`)),
      client
        .request<{ sessions: { totalCount: number; edges: { node: { sessionId: string } }[] } }>(
          'query ($name: String!) { sessions(filter: { name: { equals: $name } }) { totalCount edges { node { sessionId } } } }',
          { name: `pooled-${n}` },
        )
        .then(({ sessions }) => expect(sessions.edges.map(({ node }) => node.sessionId)).toContain(sessionId)),
      client.request('{ agents { edges { node { name status slots { slot } } } } }'),
      client.chains().next(),
    ])
    await Promise.all(read)
    // Wake-ups between servers and followed events need LISTEN and the outbox.
    const ended = new Set<string>()
    for await (const event of client.sessionEvents(
      { types: ['TERMINATED'] },
      { after, signal: AbortSignal.timeout(120_000) },
    )) {
      ended.add(event.sessionId)
      if (created.every(({ sessionId }) => ended.has(sessionId))) break
    }
    expect(log.filter((line) => /prepared statement|bind message|no_active_sql/i.test(line))).toEqual([])
  }

  /** Connections of this server that listen; PgBouncer's own have no such name. */
  async function listening(): Promise<number> {
    const client = new pg.Client({ connectionString: database.connectionString })
    await client.connect()
    try {
      const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reprise-listen'`
      return (await client.query(sql)).rowCount ?? 0
    } finally {
      await client.end()
    }
  }

  async function doctor({ url, token }: { url: string; token: string }): Promise<string> {
    const { stdout } = await commandLine({ REPRISE_URL: url, REPRISE_TOKEN: token })('doctor', '--json')
    return stdout
  }

  describe.skipIf(missing)(`PgBouncer${missing ? `: ${missing}` : ''}`, () => {
    test('in transaction mode, with the database itself beside it', async () => {
      await using pooled = await pooler('transaction')
      const server = await startWith({
        REPRISE_DATABASE_URL: pooled.url,
        REPRISE_DATABASE_DIRECT_URL: database.connectionString,
      })
      await useIt(server)
      expect(await listening()).toBe(1)
      expect(await doctor(server)).toContain('through a pooler in transaction mode')
    })

    test('in transaction mode alone is refused with a sentence', async () => {
      await using pooled = await pooler('transaction')
      const { status, log } = await run({ REPRISE_DATABASE_URL: pooled.url })
      expect({ status, log }).toMatchObject({ status: 78, log: expect.stringContaining('pooler in transaction mode') })
      expect(log).toContain('REPRISE_DATABASE_DIRECT_URL')
      const twice = {
        REPRISE_DATABASE_URL: pooled.url,
        REPRISE_DATABASE_DIRECT_URL: `${pooled.url}&application_name=x`,
      }
      expect(await run(twice)).toMatchObject({
        status: 78,
        log: expect.stringContaining('REPRISE_DATABASE_DIRECT_URL leads'),
      })
    })

    test('a direct URL of another database is refused', async () => {
      await using pooled = await pooler('transaction')
      const other = await emptyDatabase()
      const env = { REPRISE_DATABASE_URL: pooled.url, REPRISE_DATABASE_DIRECT_URL: other.connectionString }
      expect(await run(env)).toMatchObject({ status: 78, log: expect.stringContaining('must name the database of') })
      await other.drop()
    })

    test('in session mode, for everything', async () => {
      await using pooled = await pooler('session', 40)
      const server = await startWith({ REPRISE_DATABASE_URL: pooled.url })
      await useIt(server)
      expect(await doctor(server)).toContain('through a pooler in session mode')
    })
  })
})
