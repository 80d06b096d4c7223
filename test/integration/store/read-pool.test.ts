/** Connections to the database: queues, time limits, readers that leave, and a network that swallows everything. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { isDatabaseOutage, refusalOf, wasCancelled } from '../../../src/services/database-outage.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { listen } from '../../../src/store/listen.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { createPrisma, databaseOf, type PrismaClient, readTogether } from '../../../src/store/prisma.ts'
import { readFor } from '../../../src/store/reader.ts'
import { type PartitionProxy, startPartitionProxy } from '../../support/agents/partition-proxy.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database?.close())

describe('connections of the API', () => {
  const SLEEP = 'SELECT 1 FROM pg_sleep(60)'
  const CANCELLED = /57014|canceling statement/

  function asCancelled(error: Error): { rows: [] } {
    if (!CANCELLED.test(error.message)) throw error
    return { rows: [] }
  }

  interface Reads {
    db: Database
    prisma: PrismaClient
  }

  function open(
    options: {
      connectionString?: string
      connectionsMax?: number
      readTimeoutMs?: number
      ownConnections?: boolean
    } = {},
  ): Reads {
    const { connectionString } = database
    const prisma = createPrisma({ connectionString, connectionsMax: 4, onError: () => {}, ...options })
    const db = databaseOf(prisma)
    onTestFinished(async () => {
      await prisma.$disconnect()
      await db.close()
    })
    return { db, prisma }
  }

  /** Each way in which the API reads. */
  const WAYS: [name: string, read: (reads: Reads, sql: string) => Promise<unknown>][] = [
    ['a statement', ({ db }, sql) => db.query(sql)],
    ['Prisma', async ({ prisma }, sql) => prisma.$queryRawUnsafe(sql)],
    ['a snapshot', ({ db, prisma }, sql) => readTogether(prisma, () => db.query(sql))],
    ['Prisma in a snapshot', ({ prisma }, sql) => readTogether(prisma, () => prisma.$queryRawUnsafe(sql))],
  ]

  /** A way to the database; its URL. */
  async function detour(connectionString: string, join: (client: Socket, upstream: Socket) => void): Promise<string> {
    const { hostname, port } = new URL(connectionString)
    const host = decodeURIComponent(hostname)
    // A request to end something is sent and closed at once.
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host)
      client.on('end', () => upstream.end()).on('error', () => upstream.destroy())
      upstream.on('error', () => {}).on('close', () => client.destroy())
      join(client, upstream)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = new URL(connectionString)
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    return url.href
  }

  /** By a way on which a packet with this text is kept back until a request to end it has been there and is answered. */
  async function overtaken(connectionString: string, text: string): Promise<{ url: string; sent: Promise<void> }> {
    const { promise: sent, resolve } = Promise.withResolvers<void>()
    const keptBack: (() => void)[] = []
    const url = await detour(connectionString, (client, upstream) => {
      client.on('data', (packet) => {
        if (!packet.includes(text)) return void upstream.write(packet)
        keptBack.push(() => upstream.write(packet))
        resolve()
      })
      upstream.on('data', (packet) => client.write(packet))
      upstream.on('close', () => {
        for (const pass of keptBack.splice(0)) pass()
      })
    })
    return { url, sent }
  }

  /** By a way on which answers to a packet with `text`, and all later ones, wait for a packet with `awaited`. */
  function withheld(connectionString: string, text: string, awaited: string): Promise<string> {
    return detour(connectionString, (client, upstream) => {
      client.on('data', (packet) => {
        if (packet.includes(text)) upstream.pause()
        if (packet.includes(awaited)) upstream.resume()
        upstream.write(packet)
      })
      upstream.on('data', (packet) => client.write(packet))
    })
  }

  async function sleeping(): Promise<number> {
    const { rows } = await database.db.query<{ count: number }>(
      `SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'active' AND query = $1`,
      [SLEEP],
    )
    return rows[0]!.count
  }

  const untilSleeping = (count: number) =>
    vi.waitFor(async () => expect(await sleeping()).toBe(count), { timeout: 120_000 })

  describe.each(WAYS)('%s', (_name, read) => {
    test.each([true, false])(
      'that takes too long is ended, and its connection stays usable (a dedicated one: %s)',
      async (ownConnections) => {
        const reads = open({ connectionsMax: 1, readTimeoutMs: 2_000, ownConnections })
        // On a busy machine this may take too long itself.
        const pid = () =>
          eventually(async () => {
            const { rows } = await reads.db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid').catch(asCancelled)
            return rows[0]?.pid
          })
        const before = await pid()
        await expect(read(reads, SLEEP)).rejects.toThrow(CANCELLED)
        expect(await pid()).toBe(before)
      },
    )

    test('ends in the database when its reader leaves', async () => {
      const reads = open()
      const left = new AbortController()
      const answer = readFor({ party: 'a', signal: left.signal }, () => read(reads, SLEEP))
      const ended = expect(answer).rejects.toThrow(CANCELLED)
      await untilSleeping(1)
      left.abort()
      await ended
      await untilSleeping(0)
    })

    test('ends although its reader leaves before the database has begun it', async () => {
      const { url, sent } = await overtaken(database.connectionString, SLEEP)
      const reads = open({ connectionString: url })
      const left = new AbortController()
      const answer = readFor({ party: 'a', signal: left.signal }, () => read(reads, SLEEP))
      const ended = expect(answer).rejects.toThrow(CANCELLED)
      await sent
      left.abort()
      await ended
      await untilSleeping(0)
    })

    test('of a reader that has left before its turn is no fault, for any sender', async () => {
      const reads = open({ connectionsMax: 2 })
      const left = new AbortController()
      const asleep = Array.from({ length: 2 }, () =>
        readFor({ party: 'a', signal: left.signal }, () => read(reads, SLEEP)),
      )
      const ended = Promise.allSettled(asleep)
      // A query of Prisma's begins when it is waited for.
      const waiting = async () => reads.prisma.project.findMany()
      const late = readFor({ party: 'a', signal: left.signal }, waiting).catch((error: unknown) => error)
      left.abort()
      await ended
      expect(wasCancelled(await late)).toBe(true)
    })

    test('ends when it makes the answer too large, with an error for the reader', async () => {
      const reads = open()
      const large = `SELECT repeat('x', 1000) FROM generate_series(1, 10000000)`
      const half = `SELECT repeat('x', 1000000) FROM generate_series(1, 9)`
      const refused = expect.objectContaining({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining('16 MiB') as string,
      }) as unknown
      const refusal = (work: () => Promise<unknown>) =>
        readFor({ party: 'a' }, work).catch((error: Error) => refusalOf(error) ?? error)
      expect(await refusal(() => read(reads, large))).toEqual(refused)
      expect(await readFor({ party: 'a' }, () => read(reads, half))).toBeDefined()
      const both = refusal(async () => {
        await read(reads, half)
        await read(reads, half)
      })
      expect(await both).toEqual(refused)
      // The server reads as much as it has to.
      expect(await reads.db.query(`${half.slice(0, -2)}18)`)).toMatchObject({ rowCount: 18 })
    })

    test('of one reader takes half of the connections, and all readers leave some', async () => {
      const reads = open({ connectionsMax: 6 })
      const left = new AbortController()
      const asleep = (party: string) =>
        Array.from({ length: 20 }, () =>
          readFor({ party, signal: left.signal }, () => read(reads, SLEEP)).catch(() => null),
        )
      const first = asleep('a')
      await untilSleeping(3)
      expect(await readFor({ party: 'b' }, () => read(reads, 'SELECT 1 AS one'))).toBeDefined()
      const second = asleep('b')
      await untilSleeping(4)
      // A read of the server itself.
      expect((await reads.db.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
      expect(await sleeping()).toBe(4)
      left.abort()
      await Promise.all([...first, ...second])
    })
  })

  test('a snapshot sends its first statement without waiting for its beginning', async () => {
    const url = await withheld(database.connectionString, 'BEGIN', 'SELECT 42')
    const { db, prisma } = open({ connectionString: url, connectionsMax: 1 })
    await db.query('SELECT 1')
    const { result } = await readTogether(prisma, () => db.query('SELECT 42 AS found'))
    expect(result.rows).toEqual([{ found: 42 }])
  })

  test('a statement after a failure in a snapshot fails for the same reason', async () => {
    const { db, prisma } = open({ readTimeoutMs: 200 })
    const fates = readTogether(prisma, () =>
      Promise.all([SLEEP, 'SELECT 1', 'SELECT 2'].map((sql) => db.query(sql).catch((error: Error) => error.message))),
    )
    expect((await fates).result).toEqual(Array(3).fill('canceling statement due to statement timeout'))
  })

  test('who holds a connection needs no second turn', async () => {
    const { db, prisma } = open({ connectionsMax: 4 })
    const both = async (n: number) => {
      await db.query('SELECT 1')
      await db.queryWithin(10_000, 'SELECT 2')
      await db.transaction((tx) => tx.query('SELECT 3'))
      return n
    }
    const inSnapshots = Array.from({ length: 50 }, (_, n) =>
      readFor({ party: `${n % 5}` }, () => readTogether(prisma, () => db.query('SELECT 1').then(() => n))),
    )
    const inTransactions = Array.from({ length: 50 }, (_, n) => readFor({ party: `${n % 5}` }, () => both(n)))
    expect(await Promise.all([...inSnapshots, ...inTransactions])).toHaveLength(100)
  })

  test('a statement may have its own time limit, and writes have none', async () => {
    const { db, prisma } = open({ readTimeoutMs: 500 })
    const patient = () => db.queryWithin(20_000, 'SELECT pg_sleep(0.7)')
    await expect(patient()).resolves.toBeDefined()
    await expect(readTogether(prisma, patient)).resolves.toBeDefined()
    await expect(
      readTogether(prisma, async () => {
        await patient()
        await db.query(SLEEP)
      }),
    ).rejects.toThrow(CANCELLED)
    await expect(db.transaction((tx) => tx.query('SELECT pg_sleep(0.7)'))).resolves.toBeDefined()
    const writing = readFor({ party: 'a', writes: true }, () => db.query('SELECT pg_sleep(0.7)'))
    await expect(writing).resolves.toBeDefined()
    await expect(db.queryWithin(100, SLEEP)).rejects.toThrow(CANCELLED)
  })
})

/** The network to the database swallows everything, and closes nothing: connections that are open stay so. */
describe('a silent network', () => {
  /** Longer than a connection and a statement take on a busy machine. */
  const PATIENCE = { connectMs: 3_000, queryMs: 3_000 }
  let network: PartitionProxy
  /** Through the network. */
  let connectionString: string
  beforeAll(async () => {
    const { rows } = await database.db.query<{ port: string }>('SHOW port')
    network = await startPartitionProxy(`http://127.0.0.1:${rows[0]!.port}`)
    connectionString = database.connectionString.replace(/@[^/]+/, `@${new URL(network.url).host}`)
  })
  beforeEach(() => network.set('open'))
  afterAll(async () => {
    await network?.close()
  })

  function open(): Database {
    const db = openDatabase({ connectionString, connectionsMax: 1, onError: () => {}, patience: PATIENCE })
    onTestFinished(() => db.close())
    return db
  }

  async function failureOf(work: Promise<unknown>): Promise<unknown> {
    const failed = await work.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failed, 'it has not failed').toBeDefined()
    return failed
  }

  test('a statement is given up, and the next has another connection', async () => {
    const db = open()
    await db.query('SELECT 1')
    network.set('stalled')
    expect(isDatabaseOutage(await failureOf(db.query('SELECT 1')))).toBe(true)
    network.set('open')
    expect((await db.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }])
  })

  test('so is a transaction, of which nothing is left', async () => {
    const db = open()
    let givenUpAt = 0
    const work = db.transaction(async (tx) => {
      await tx.query(`INSERT INTO settings (key, value) VALUES ('silent', '1')`)
      network.set('stalled')
      await tx.query('SELECT 1').finally(() => (givenUpAt = performance.now()))
    })
    expect(isDatabaseOutage(await failureOf(work))).toBe(true)
    // A ROLLBACK would be waited for as long again.
    expect(performance.now() - givenUpAt).toBeLessThan(PATIENCE.queryMs)
    network.set('open')
    const left = async () => (await db.query(`SELECT FROM settings WHERE key = 'silent'`)).rowCount
    expect(await left()).toBe(0)
    await db.transaction((tx) => tx.query(`INSERT INTO settings (key, value) VALUES ('silent', '2')`))
    expect(await left()).toBe(1)
  })

  test('connecting is given up, and so is waiting for a connection', async () => {
    const db = open()
    network.set('stalled')
    const failures = await Promise.all([db.query('SELECT 1'), db.query('SELECT 2')].map(failureOf))
    expect(failures.map(isDatabaseOutage)).toEqual([true, true])
    network.set('open')
    expect((await db.query('SELECT 3 AS three')).rows).toEqual([{ three: 3 }])
  })

  test('so are reads for GraphQL', async () => {
    const prisma = createPrisma({ connectionString, connectionsMax: 1, onError: () => {}, patience: PATIENCE })
    onTestFinished(() => prisma.$disconnect())
    expect(await prisma.session.count()).toBe(0)
    network.set('stalled')
    expect(isDatabaseOutage(await failureOf(prisma.session.count()))).toBe(true)
    network.set('open')
    expect(await prisma.session.count()).toBe(0)
  })

  test('a start reports the fault', async () => {
    network.set('stalled')
    const log = pino({ enabled: false })
    await expect(migrate(connectionString, log, { patience: PATIENCE })).rejects.toThrow(
      `The database at 127.0.0.1:${new URL(network.url).port} does not answer: no connection within 3 s.`,
    )
  })

  test('a listener tries again', async () => {
    const heard: string[] = []
    const lost: string[] = []
    network.set('stalled')
    const listener = listen({
      connectionString,
      channel: 'news',
      onNotification: (payload) => heard.push(payload),
      log: pino({ level: 'warn' }, { write: (line) => lost.push(line) }),
      patience: PATIENCE,
    })
    onTestFinished(() => listener.stop())
    await eventually(() => lost.length > 0)
    network.set('open')
    await eventually(() => heard.length > 0)
    await database.db.query(`NOTIFY news, 'good'`)
    await eventually(() => heard.at(-1) === 'good')
  })
})
