/** A network to the database that swallows everything and closes nothing. */
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { isDatabaseOutage } from '../../../src/services/database-outage.ts'
import { openDatabase, type Database } from '../../../src/store/database.ts'
import { listen } from '../../../src/store/listen.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { createPrisma } from '../../../src/store/prisma.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { startPartitionProxy, type PartitionProxy } from '../../support/agents/partition-proxy.ts'

/** The network to the database swallows everything, and closes nothing: connections that are open stay so. */

/** Longer than a connection and a statement take on a busy machine. */
const PATIENCE = { connectMs: 3_000, queryMs: 3_000 }

let database: TestDatabase
let network: PartitionProxy
/** Through the network. */
let connectionString: string

beforeAll(async () => {
  database = await testDatabase()
  const { rows } = await database.db.query<{ port: string }>('SHOW port')
  network = await startPartitionProxy(`http://127.0.0.1:${rows[0]!.port}`)
  connectionString = database.connectionString.replace(/@[^/]+/, `@${new URL(network.url).host}`)
})
beforeEach(() => network.set('open'))
afterAll(async () => {
  await network?.close()
  await database?.close()
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

test('a start says what is wrong', async () => {
  network.set('stalled')
  const log = pino({ enabled: false })
  await expect(migrate(connectionString, log, { patience: PATIENCE })).rejects.toThrow(
    `The database at 127.0.0.1:${new URL(network.url).port} does not answer: no connection within 3 s.`,
  )
})

test('what listens tries again', async () => {
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
