import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { createClient } from '../../src/client/node/index.ts'
import { hold } from '../support/database/blocked.ts'
import { emptyDatabase, testDatabase, type TestDatabase } from '../support/database/database.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { startSubscribers, type Subscribers, subscriptionsOpen } from '../support/servers/subscribers.ts'

describe('hostile reader', () => {
  /**
   * One token reads as much as it can, over all transports, and what it reads takes as long as a read may: what it reads is
   * locked. Everybody else has a server as if it was not there, and so has the scheduler.
   */

  const CONNECTIONS = 8
  const AT_ONCE = 60
  const SESSIONS = 15

  let database: TestDatabase
  let server: ServerProcess
  let adminToken: string
  let hostile: string

  beforeAll(async () => {
    database = await testDatabase()
    const dataDir = await temporaryDirectory('hostile-reader')
    const env = {
      REPRISE_DATABASE_URL: database.connectionString,
      REPRISE_DATABASE_CONNECTIONS: String(CONNECTIONS),
      REPRISE_EXECUTOR: 'noop',
    }
    server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    adminToken = await readAdminToken(dataDir)
    const factory = createFactories(database.db)
    const projectId = await factory.project()
    hostile = await factory.token({ role: 'VIEWER', projectId })
  })
  afterAll(async () => {
    await server?.stop()
    await database?.close()
  })

  const QUESTION = JSON.stringify({ query: '{ resubmissions(first: 1) { edges { node { id } } } }' })

  function post(signal: AbortSignal, body = QUESTION): Promise<Response> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${hostile}` }
    return fetch(`${server.url}/graphql`, { method: 'POST', headers, body, signal })
  }

  function openSocket(): WebSocket {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const payload = { authorization: `Bearer ${hostile}` }
    socket.on('error', () => {})
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })))
    socket.on('message', (data: Buffer) => {
      if (!String(data).includes('connection_ack')) return
      for (let id = 0; id < AT_ONCE; id++) socket.send(`{"id":"${id}","type":"subscribe","payload":${QUESTION}}`)
    })
    return socket
  }

  /** Their readers wait, readers of sessions do not. */
  const lockResubmissions = () => hold(database, 'LOCK TABLE resubmissions IN ACCESS EXCLUSIVE MODE')

  /** The reads that wait in the database, and for how long the oldest of them has. */
  async function waiting(): Promise<{ count: number; ageMs: number }> {
    const { rows } = await database.db.query<{ count: number; ageMs: number }>(
      `SELECT count(*) AS count, coalesce(max(extract(epoch FROM clock_timestamp() - query_start) * 1000), 0)::float8 AS "ageMs"
     FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND application_name = 'reprise-read'`,
    )
    return rows[0]!
  }

  test('one token that reads without end keeps neither others nor the scheduler waiting', async () => {
    await lockResubmissions()
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const answers = new Set<string>()
    const attacks = Array.from({ length: AT_ONCE }, async () => {
      while (!stop.signal.aborted) {
        const text = await post(stop.signal).then(
          (response) => response.text(),
          () => 'left',
        )
        answers.add(/"code":"(\w+)"/.exec(text)?.[1] ?? text)
      }
    })
    const socket = openSocket()
    await vi.waitFor(async () => expect((await waiting()).count).toBe(CONNECTIONS / 2), { timeout: 120_000 })

    await using client = createClient({ url: server.url, token: adminToken })
    const made = await Promise.all(
      Array.from({ length: SESSIONS }, (_, n) => client.createSession({ name: `calm-${n}`, command: ['true'] })),
    )
    const ids = made.map(({ session }) => session.sessionId)
    for (;;) {
      const { nodes, totalCount } = await client.sessionPage({
        filter: { name: { startsWith: 'calm-' } },
        withTotal: true,
      })
      expect(totalCount).toBe(SESSIONS)
      const rest = await fetch(`${server.url}/v2/sessions`, { headers: { authorization: `Bearer ${adminToken}` } })
      expect(rest.status).toBe(200)
      if (nodes.filter(({ status }) => status === 'TERMINATED').length === ids.length) break
    }
    // It went on all the time, in half of the connections for reads.
    // Those that have taken too long are replaced all at once.
    await vi.waitFor(async () => expect((await waiting()).count).toBe(CONNECTIONS / 2), { timeout: 120_000 })
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)

    stop.abort()
    socket.terminate()
    await Promise.all(attacks)
    expect([...answers].filter((code) => !['REQUEST_TIMEOUT', 'TOO_MANY_REQUESTS', 'left'].includes(code))).toEqual([])
  })

  const LEAVING: Readonly<Record<string, (socket: WebSocket) => void>> = {
    'a WebSocket': (socket) => socket.terminate(),
    'operations of a WebSocket that stays': (socket) => {
      for (let id = 0; id < AT_ONCE; id++) socket.send(`{"id":"${id}","type":"complete"}`)
    },
  }

  test.each(['HTTP', ...Object.keys(LEAVING)])(
    'the reads of a client end when it disconnects: %s',
    async (transport) => {
      await lockResubmissions()
      const stop = new AbortController()
      const requests: Promise<unknown>[] = []
      if (transport === 'HTTP') for (let n = 0; n < AT_ONCE; n++) requests.push(post(stop.signal).catch(() => null))
      else {
        const socket = openSocket()
        onTestFinished(() => socket.terminate())
        // Acknowledged: what waits in the database could be left from another test.
        await once(socket, 'message')
        stop.signal.addEventListener('abort', () => LEAVING[transport]!(socket))
      }
      await vi.waitFor(async () => expect((await waiting()).count).toBeGreaterThan(0), {
        timeout: 120_000,
        interval: 10,
      })
      stop.abort()
      await Promise.all(requests)
      let oldestMs = 0
      await vi.waitFor(
        async () => {
          const { count, ageMs } = await waiting()
          oldestMs = Math.max(oldestMs, ageMs)
          expect(count).toBe(0)
        },
        { timeout: 120_000, interval: 10 },
      )
      // Otherwise they would have ended by their timeout, 5 s.
      expect(oldestMs).toBeLessThan(4_900)
    },
  )

  test('200 counts of a search in one request are refused', async () => {
    const aliases = Array.from(
      { length: 200 },
      (_, n) => `a${n}: chains(first: 1, filter: { search: "bul" }) { totalCount }`,
    )
    const answer: any = await (
      await post(AbortSignal.timeout(20_000), JSON.stringify({ query: `{ ${aliases.join(' ')} }` }))
    ).json()
    expect(answer.errors[0].message).toMatch(/^The query is too complex/)
  })
})

describe('subscribers', () => {
  /** Subscribers in a separate process, each on its own socket; the fan-out bench runs twenty times as many. */

  const SUBSCRIBERS = 250
  const BURST_EVENTS = 200
  const AWAY_EVENTS = 50

  let server: ServerProcess
  let token: string
  let subscribers: Subscribers

  beforeAll(async () => {
    const dataDir = await temporaryDirectory('subscribers')
    const { connectionString } = await emptyDatabase()
    const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api' }
    server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    token = await readAdminToken(dataDir)
    subscribers = startSubscribers()
  })
  afterAll(async () => {
    await subscribers?.[Symbol.asyncDispose]()
    await server?.stop()
  })

  async function create(count: number): Promise<void> {
    await using client = createClient({ url: server.url, token })
    await client.createSessions(Array.from({ length: count }, (_, n) => ({ name: `s${n}`, command: ['true'] })))
  }

  test('many subscribers miss nothing of a burst, and nothing of what happens while all are cut off', async () => {
    await subscribers.connect({ url: server.url, token, count: SUBSCRIBERS })
    await subscriptionsOpen(server.url, token, SUBSCRIBERS)
    const burst = subscribers.received(BURST_EVENTS)
    await create(BURST_EVENTS)
    expect(await burst).toMatchObject({ received: SUBSCRIBERS * BURST_EVENTS, faults: 0 })

    await subscribers.cut()
    await create(AWAY_EVENTS)
    await subscribers.connect({ url: server.url, token, count: SUBSCRIBERS })
    expect(await subscribers.received(AWAY_EVENTS)).toMatchObject({ received: SUBSCRIBERS * AWAY_EVENTS, faults: 0 })
  })
})
