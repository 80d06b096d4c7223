import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findLeftovers, readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import {
  ApiError,
  type AttemptFragment,
  type Client,
  createClient,
  type CreateSessionInput,
  hasEnded,
} from '../../src/client/node/index.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { eventually, pause } from '../support/eventually.ts'
import { forEachSeed, type Random, randomOf } from '../support/seeds.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Webhook } from 'standardwebhooks'
import { WEBHOOK_LEASE_MS } from '../../src/domain/limits.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { writeEvents } from '../support/database/outbox.ts'
import { advanceClock } from '../support/sessions/advance-clock.ts'
import { writeTestSecretsKey } from '../support/servers/test-secrets.ts'
import { deliveryRows, webhookServer } from '../support/servers/webhook-fixture.ts'
import { webhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts'
import { MAIN } from '../support/programs/command-line.ts'

describe('crashes', () => {
  /**
   * The real server, PostgreSQL and processes, with the server killed by SIGKILL at random moments again and
   * again while sessions fail, retry and succeed. In the end nothing is lost and nothing done twice.
   */

  const SESSIONS = 60
  const KILLS = 5
  const KILL_PAUSE_MIN_MS = 300
  const KILL_PAUSE_SPREAD_MS = 1_500
  const START_OF_TIME = btoa('0:0').replaceAll('=', '')
  const FAR_AWAY = '2100-01-01T00:00:00Z'

  /** Each run leaves a line in the chain's directory, so that what ran is known from outside of the database. */
  const NOTE_RUN = 'echo "$REPRISE_ATTEMPT" >> "$REPRISE_CHAIN_DIR/runs"'

  interface Kind {
    name: string
    command: string
    maxRetries: number
    /** Runs that there should be in the end, and how the last one ends. */
    attempts: number
    status: 'TERMINATED' | 'ERROR'
    phase: string
  }

  const KINDS: readonly Kind[] = [
    { name: 'succeeds', command: 'exit 0', maxRetries: 2, attempts: 1, status: 'TERMINATED', phase: 'SUCCEEDED' },
    {
      name: 'third time',
      command: 'test "$REPRISE_ATTEMPT" -ge 3',
      maxRetries: 4,
      attempts: 3,
      status: 'TERMINATED',
      phase: 'SUCCEEDED',
    },
    { name: 'hopeless', command: 'exit 9', maxRetries: 2, attempts: 3, status: 'ERROR', phase: 'EXHAUSTED' },
    { name: 'not retried', command: 'exit 4', maxRetries: 0, attempts: 1, status: 'ERROR', phase: 'NONE' },
    {
      name: 'slow',
      command: 'sleep 1; test "$REPRISE_ATTEMPT" -ge 2',
      maxRetries: 1,
      attempts: 2,
      status: 'TERMINATED',
      phase: 'SUCCEEDED',
    },
  ]

  const kindOf = (index: number): Kind => KINDS[index % KINDS.length]!

  interface SeenEvent {
    cursor: string
    type: string
    sessionId: string
    chainId: string
  }

  let dataDir: string
  let server: ServerProcess
  let client: Client
  let url: string
  /** The newest lines, for when it fails. */
  let log: string[] = []
  const onLog = (line: string) => {
    log = [...log.slice(-40), `${new Date().toISOString()} ${line}`]
  }

  async function begin(): Promise<void> {
    log = []
    dataDir = await temporaryDirectory('crashes')
    await copyPreparedCluster(join(dataDir, 'postgres'))
    server = await startServer({ dataDir, port: await fixedPort(), onLog })
    url = server.url
    // The server is up for moments only: look often, and give up never.
    const retry = {
      network: { minSeconds: 0.1, maxSeconds: 0.1, stopAfterSeconds: null },
      reconnect: { maxSeconds: 0.5 },
    }
    client = createClient({ url, token: await readAdminToken(dataDir), retry })
  }

  async function end(): Promise<void> {
    await client?.close()
    await server?.stop()
  }

  test('no crash of the server loses a session, runs an attempt twice, or keeps an event from a subscriber', () =>
    forEachSeed(async (seed) => {
      try {
        await begin()
        await crash(randomOf(seed))
      } finally {
        await end()
      }
    }))

  async function crash(random: Random): Promise<void> {
    const ended = new AbortController()
    const seen: SeenEvent[] = []
    const following = follow(seen, ended.signal)
    const submitting = submitAll()
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(KILL_PAUSE_MIN_MS + random.below(KILL_PAUSE_SPREAD_MS))
      await server.kill()
      server = await startServer({ dataDir, port: Number(new URL(url).port), onLog })
    }
    const sessionIds = await submitting
    const chains = await waitForAll(sessionIds)

    for (const [index, chain] of chains.entries()) {
      const kind = kindOf(index)
      const last = chain.at(-1)!
      expect(`${last.status} ${last.retryState.phase} after ${chain.length}`).toBe(
        `${kind.status} ${kind.phase} after ${kind.attempts}`,
      )
      expect(chain.map(({ attempt }) => attempt)).toEqual(chain.map((_, position) => position + 1))
      expect(chain.map(({ parentSession }) => parentSession?.sessionId ?? null)).toEqual([
        null,
        ...chain.slice(0, -1).map(({ sessionId }) => sessionId),
      ])
      expect(
        chain.flatMap(({ kernels }) => kernels).filter(({ status }) => !['TERMINATED', 'ERROR'].includes(status)),
      ).toEqual([])
    }
    expect(await runsByChain()).toEqual(new Map(sessionIds.map((id, index) => [id, kindOf(index).attempts])))

    const last = await client.createSession({ name: 'last', command: ['true'], startsAt: FAR_AWAY })
    const isLast = ({ sessionId }: SeenEvent) => sessionId === last.session.sessionId
    const all = await readEventsBefore(isLast)
    await eventually(() => seen.some(isLast))
    ended.abort()
    await following
    expect(seen.slice(0, seen.findIndex(isLast)).map(({ cursor }) => cursor)).toEqual(all.map(({ cursor }) => cursor))
    expect(all.filter(({ type }) => type === 'CREATED').length).toBe(chains.flat().length)

    expect({ status: await server.stop(), log }).toMatchObject({ status: 0 })
    expect(await findLeftovers(dataDir)).toEqual([])
  }

  async function submitAll(): Promise<string[]> {
    const sessionIds: string[] = []
    for (let from = 0; from < SESSIONS; from += 20) {
      const sessions = Array.from({ length: 20 }, (_, offset): CreateSessionInput => {
        const { name, command, maxRetries } = kindOf(from + offset)
        return {
          name,
          command: ['sh', '-c', `${NOTE_RUN}; ${command}`],
          retryPolicy: { maxRetries, retryDelay: 0.2, jitter: 'RANDOM', jitterRatio: 1 },
        }
      })
      for (const result of await client.createSessions(sessions)) {
        if (result instanceof ApiError) throw result
        sessionIds.push(result.session.sessionId)
      }
      await pause(300)
    }
    return sessionIds
  }

  /**
   * The chains, in the order of their first sessions, once none of them has anything left to do. One is asked about at
   * a time: hundreds at once would take the machine from those whose work is awaited.
   */
  async function waitForAll(sessionIds: readonly string[]): Promise<AttemptFragment[][]> {
    const chains: AttemptFragment[][] = []
    for (const id of sessionIds) {
      let chain = await client.chain(id)
      while (!hasEnded(chain)) {
        await pause(500)
        chain = await client.chain(id)
      }
      chains.push(chain)
    }
    return chains
  }

  async function runsByChain(): Promise<Map<string, number>> {
    const root = join(dataDir, 'agent/chains')
    // What begins with a dot says something of the others.
    const entries = (await readdir(root)).filter((name) => !name.startsWith('.'))
    const runs = await Promise.all(
      entries.map(async (id) => {
        const lines = (await readFile(join(root, id, 'runs'), 'utf8')).trim().split('\n')
        // In order, and none of them twice.
        expect(lines).toEqual(lines.map((_, position) => String(position + 1)))
        return [id, lines.length] as const
      }),
    )
    return new Map(runs)
  }

  async function follow(seen: SeenEvent[], signal: AbortSignal): Promise<void> {
    try {
      for await (const event of client.sessionEvents({}, { after: START_OF_TIME, signal })) seen.push(event)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  /** The outbox from its beginning, by a subscriber that was not there before. */
  async function readEventsBefore(isEnd: (event: SeenEvent) => boolean): Promise<SeenEvent[]> {
    const events: SeenEvent[] = []
    for await (const event of client.sessionEvents({}, { after: START_OF_TIME })) {
      if (isEnd(event)) break
      events.push(event)
    }
    return events
  }
})

describe('webhook crash', () => {
  let database: TestDatabase
  let receiver: WebhookReceiver
  let dataDir: string
  let secretsKey: string
  const children: ChildProcess[] = []

  beforeAll(async () => {
    database = await testDatabase()
    receiver = await webhookReceiver()
    dataDir = await temporaryDirectory('webhook-crash')
    secretsKey = await writeTestSecretsKey(dataDir)
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await end(child, 'SIGKILL')
  })
  afterAll(async () => {
    await receiver?.close()
    await database?.close()
  })

  /** A server process as a user starts it, that does nothing but drive sessions and deliver. */
  async function startScheduler(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [MAIN, 'serve'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        REPRISE_DATABASE_URL: database.connectionString,
        REPRISE_DATA_DIR: dataDir,
        REPRISE_SECRETS_KEY_FILE: secretsKey,
        REPRISE_ROLES: 'scheduler',
        REPRISE_LOG_LEVEL: 'error',
        REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.1/32',
      },
    })
    children.push(child)
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('reprise ready')) break
    return child
  }

  async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  test('a server killed in the middle of an attempt: after the lease another makes it again under the same webhook-id', async () => {
    const { secret } = await webhookServer(database.db).create({ url: receiver.url })
    const session = await createFactories(database.db).session()
    const data = { from: null, to: 'PENDING' }
    const { id: sessionId, chainId, projectId } = session

    receiver.hang()
    const first = await startScheduler()
    await writeEvents(database.db, [{ sessionId, chainId, projectId, data }])
    await eventually(() => receiver.received.length === 1, { withinMs: 120_000 })
    await end(first, 'SIGKILL')

    receiver.answerWith(200)
    const second = await startScheduler()
    // It is still somebody's. Whether its endpoint gets something else meanwhile depends on how slow it seems to be.
    await writeEvents(database.db, [{ sessionId, chainId, projectId, data }])
    await eventually(async () => (await deliveryRows(database.db)).length === 2, { withinMs: 120_000 })
    expect(await deliveryRows(database.db)).toMatchObject([
      { status: 'PENDING', underWay: true, attempts: 1 },
      { eventType: 'session.created' },
    ])
    await advanceClock(database.db, WEBHOOK_LEASE_MS / 1000)
    await eventually(() => receiver.received.length === 3, { withinMs: 120_000 })
    await end(second, 'SIGTERM')

    expect(second.exitCode).toBe(0)
    expect(await deliveryRows(database.db)).toMatchObject([
      { status: 'DELIVERED', attempts: 2, failures: 0 },
      { status: 'DELIVERED', attempts: 1 },
    ])
    const [cut, ...later] = receiver.received
    const again = later.find(({ headers }) => headers['webhook-id'] === cut!.headers['webhook-id'])
    expect(later.filter((each) => each !== again)).toHaveLength(1)
    expect(again!.body).toBe(cut!.body)
    expect(new Webhook(secret).verify(again!.body, again!.headers as Record<string, string>)).toMatchObject({
      data: { session_id: sessionId },
    })
  })
})
