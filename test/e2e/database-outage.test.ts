import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { type Client, ClientClosedError, createClient, UnavailableError } from '../../src/client/node/index.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { type Address, type Cluster, connectionString, openCluster } from '../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../src/store/postgres/embedded.ts'
import { ensureRunning, stopServer } from '../../src/store/postgres/postmaster.ts'
import { eventually, pause } from '../support/eventually.ts'
import { emptyDatabase, testDatabase } from '../support/database/database.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { type SpawnedProgram, spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { TEST_SETTINGS } from '../support/database/test-settings.ts'
import { MAIN } from '../support/programs/command-line.ts'
import { encodeCursor } from '../../src/domain/events.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { forEachSeed, randomOf } from '../support/seeds.ts'

describe('database outage', () => {
  /**
   * PostgreSQL is away while sessions run, clients ask and subscribers listen: one server process lives through it.
   * OUTAGE_SECONDS=30 makes it as long as it has to be survived; a shorter one passes through the same pauses, the
   * longest of which is 5 s.
   */
  const OUTAGE_MS = Number(process.env['OUTAGE_SECONDS'] ?? 12) * 1_000
  const READY_AGAIN_WITHIN_MS = 15_000
  const RESIDENT_GROWTH_BYTES_MAX = 150 * 1024 ** 2
  const CHAINS = 12
  const START_OF_TIME = btoa('0:0').replaceAll('=', '')

  let cluster: Cluster
  let address: Address
  let db: Database
  let server: SpawnedProgram
  let token: string
  let client: Client

  beforeAll(async () => {
    const directory = await temporaryDirectory('outage')
    await copyPreparedCluster(join(directory, 'postgres'))
    cluster = await openCluster(join(directory, 'postgres'))
    address = (await ensureRunning(cluster, TEST_SETTINGS)).address
    db = openDatabase({ connectionString: databaseUrl(), connectionsMax: 3, onError: () => {} })
    server = await spawnProgram({
      args: ['--unhandled-rejections=strict', MAIN, 'serve'],
      environment: {
        REPRISE_DATABASE_URL: databaseUrl(),
        REPRISE_DATA_DIR: join(directory, 'server'),
        REPRISE_PORT: '0',
        REPRISE_SLOTS: 'cpu=16,mem=4g',
      },
      ready: /^reprise ready (http:\S+)$/,
    })
    token = await readAdminToken(join(directory, 'server'))
    client = createClient({ url: server.ready, token })
  })

  afterAll(async () => {
    await client?.close()
    await server?.stop()
    await db?.close()
    if (cluster) await stopServer(cluster)
  })

  const databaseUrl = () => connectionString(cluster, address, EMBEDDED_DATABASE)

  /** One third each: ends before the outage, in it, and after it; each fails once. */
  const programOf = (index: number) => {
    const seconds = [0.1, OUTAGE_MS / 2_000, OUTAGE_MS / 1_000 + 2][index % 3]
    return ['sh', '-c', `test "$REPRISE_ATTEMPT" -ge 2 || { sleep ${seconds}; exit 1; }`]
  }

  interface Answers {
    readyz: Set<string>
    graphql: Set<string>
    rest: Set<string>
  }

  /** Asks every interface again and again until `signal` aborts, and records the answers. */
  async function askAll(signal: AbortSignal): Promise<Answers> {
    const answers: Answers = { readyz: new Set(), graphql: new Set(), rest: new Set() }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const query = (text: string) =>
      fetch(`${server.ready}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: text }) })
    const texts = [
      '{ sessions { totalCount } }',
      'mutation { createSession(input: { name: "none", command: ["true"] }) { __typename } }',
    ]
    async function askOnAndOn(ask: () => Promise<void>): Promise<void> {
      while (!signal.aborted) {
        await ask()
        await pause(20)
      }
    }
    await Promise.all([
      ...texts.map((text) =>
        askOnAndOn(async () => {
          const response = await query(text)
          const { errors = [] } = (await response.json()) as { errors?: { extensions: { code: string } }[] }
          answers.graphql.add([response.status, ...errors.map(({ extensions }) => extensions.code)].join(' '))
        }),
      ),
      askOnAndOn(async () => {
        const response = await fetch(`${server.ready}/v2/sessions`, { headers })
        answers.rest.add(`${response.status} ${((await response.json()) as { code: string }).code}`)
      }),
      askOnAndOn(async () => {
        const response = await fetch(`${server.ready}/readyz`)
        answers.readyz.add(`${response.status} ${((await response.json()) as { reason: string }).reason}`)
      }),
    ])
    return answers
  }

  async function residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${server.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024
  }

  async function follow(seen: string[], signal: AbortSignal): Promise<void> {
    try {
      for await (const { sessionId } of client.sessionEvents({}, { after: START_OF_TIME, signal })) seen.push(sessionId)
    } catch (error) {
      if (!signal.aborted && !(error instanceof ClientClosedError)) throw error
    }
  }

  test('a server lives through an outage of its database', async () => {
    const ended = new AbortController()
    const seen: string[] = []
    const seenByLatecomer: string[] = []
    const following = follow(seen, ended.signal)
    const inputs = Array.from({ length: CHAINS }, (_, index) => ({
      name: 'work',
      command: programOf(index),
      resourceSlots: [{ slot: 'cpu', amount: '1' }],
      retryPolicy: { maxRetries: 1, retryDelay: 0.5 },
    }))
    const chainIds = (await client.createSessions(inputs)).map((created) =>
      'session' in created ? created.session.sessionId : '',
    )
    const isRunning = `SELECT count(*) >= $1 AS yes FROM sessions WHERE status = 'RUNNING'`
    const yes = async () => (await db.query<{ yes: boolean }>(isRunning, [(CHAINS * 2) / 3])).rows[0]!.yes
    await eventually(yes, { withinMs: 120_000, what: 'they run' })

    const residentBefore = await residentBytes()
    await stopServer(cluster)
    const over = new AbortController()
    const asking = askAll(over.signal)
    const impatient = createClient({ url: server.ready, token, retry: false })
    const early = impatient.createSession({ name: 'none', command: ['true'] })
    await expect(early).rejects.toThrow(UnavailableError)
    const latecomer = follow(seenByLatecomer, ended.signal)
    const patient = client.createSession({ name: 'asked for meanwhile', command: ['true'] })
    await pause(OUTAGE_MS)
    over.abort()
    const answers = await asking
    expect(answers).toEqual({
      readyz: new Set(['503 no database']),
      graphql: new Set(['503 DATABASE_UNAVAILABLE']),
      rest: new Set(['503 DATABASE_UNAVAILABLE']),
    })
    const residentAfter = await residentBytes()
    expect(residentAfter - residentBefore).toBeLessThan(RESIDENT_GROWTH_BYTES_MAX)

    await ensureRunning(cluster, TEST_SETTINGS, address)
    const isReady = async () => (await fetch(`${server.ready}/readyz`)).status === 200
    await eventually(isReady, { withinMs: READY_AGAIN_WITHIN_MS, what: 'ready again' })
    const { session } = await patient
    await client.waitForChain(session.sessionId)
    const ends = await Promise.all(chainIds.map((id) => client.waitForChain(id)))
    expect(ends.map(({ outcome, attempts }) => `${outcome} ${attempts.length}`)).toEqual(
      chainIds.map(() => 'SUCCEEDED 2'),
    )

    const outbox = await db.query<{ id: string }>('SELECT session_id AS id FROM session_events e ORDER BY e.xid, e.id')
    const events = outbox.rows.map(({ id }) => id)
    await eventually(() => Math.min(seen.length, seenByLatecomer.length) >= events.length, {
      withinMs: 120_000,
      what: 'all events seen',
    })
    expect(seen).toEqual(events)
    expect(seenByLatecomer).toEqual(events)
    expect((await db.query(`SELECT FROM scheduling_history WHERE to_status = 'LOST'`)).rowCount).toBe(0)
    ended.abort()
    await Promise.all([following, latecomer, impatient.close()])
  })

  test('a server stops cleanly while its database is away', async () => {
    await stopServer(cluster)
    expect(await server.stop()).toBe(0)
    expect(server.log.filter((line) => /after calling end|an uncaught error/.test(line))).toEqual([])
  })

  /** After how many messages of the server each of its connections breaks, the first ones first; later ones do not. */
  const BREAKS_AFTER = [0, 1, 2, 3, 5, 8, 12, 18, 27, 40]

  test('a server starts on an empty database to which its connections break again and again, and stops in order', async () => {
    const database = await emptyDatabase()
    const url = new URL(database.connectionString)
    const databasePort = Number(url.port)
    const breaks = [...BREAKS_AFTER]
    const proxy = createServer((near) => {
      let left = breaks.shift() ?? Infinity
      const far = connect(databasePort, '127.0.0.1')
      near.on('error', () => far.destroy()).once('close', () => far.destroy())
      far.on('error', () => near.destroy()).once('close', () => near.destroy())
      near.on('data', (chunk) => (left-- > 0 ? far.write(chunk) : near.resetAndDestroy()))
      far.pipe(near)
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const starting = await spawnProgram({
      args: ['--unhandled-rejections=strict', MAIN, 'serve'],
      environment: {
        REPRISE_DATABASE_URL: url.href,
        REPRISE_DATA_DIR: await temporaryDirectory('breaking'),
        REPRISE_PORT: '0',
        REPRISE_EXECUTOR: 'noop',
      },
      ready: /^reprise ready (http:\S+)$/,
    })
    expect(breaks).toEqual([])
    expect(starting.log.filter((line) => line.startsWith('admin token kept in'))).toHaveLength(1)
    const answer = await fetch(`${starting.ready}/readyz`)
    expect(answer.status).toBe(200)
    expect(await starting.stop()).toBe(0)
    expect(starting.log.filter((line) => /after calling end|an uncaught error/.test(line))).toEqual([])
    proxy.close()
    await database.drop()
  })
})

describe('client restarts', () => {
  const RESTARTS = 20

  test(`a consumer sees each event once, in order, over ${RESTARTS} restarts of the server, and nothing is created twice`, () =>
    forEachSeed(async (seed) => {
      const random = randomOf(seed)
      const database = await testDatabase()
      const dataDir = join(await temporaryDirectory('restarts'), 'data')
      const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ROLES: 'api' }
      let server = await startServer({ dataDir, port: await fixedPort(), onLog: () => {}, env })
      const { url } = server
      await using client = createClient({
        url,
        token: await readAdminToken(dataDir),
        retry: {
          network: { minSeconds: 0.05, maxSeconds: 0.05, stopAfterSeconds: null },
          reconnect: { maxSeconds: 0.5 },
        },
      })
      const events = client.sessionEvents({ types: ['CREATED'] }, { after: await client.eventCursor() })
      const seen: string[] = []
      const next = events.next()
      const enough = new AbortController()
      let created = 0

      async function createOnAndOn(): Promise<void> {
        while (!enough.signal.aborted) {
          await client.createSession({ name: `session ${created}`, command: ['true'] })
          created++
        }
      }
      async function consume(): Promise<void> {
        seen.push((await next).value.cursor)
        for await (const { cursor } of events) seen.push(cursor)
      }

      const consuming = consume()
      const creating = createOnAndOn()
      for (let restart = 0; restart < RESTARTS; restart++) {
        const before = created
        await expect.poll(() => created, { timeout: 120_000, interval: 10 }).toBeGreaterThan(before + 1)
        await pause(random.below(100))
        if (restart % 2 === 0) await server.kill()
        else expect(await server.stop()).toBe(0)
        server = await startServer({ dataDir, port: Number(new URL(url).port), onLog: () => {}, env })
      }
      enough.abort()
      await creating
      const { rows } = await database.db.query<{ xid: string; id: string }>(
        `SELECT xid::text, id::text FROM session_events WHERE type = 'session.created' ORDER BY session_events.xid, session_events.id`,
      )
      const all = rows.map(({ xid, id }) => encodeCursor({ xid: BigInt(xid), id: BigInt(id) }))
      await expect.poll(() => seen.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(all.length)
      await events.return!()
      await consuming
      expect(seen).toEqual(all)
      expect(all.length).toBe(created)
      expect(created).toBeGreaterThan(RESTARTS)
      expect(await server.stop()).toBe(0)
      await database.close()
    }))
})
