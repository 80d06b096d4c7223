/** Plans of statements that read the outbox, send webhooks or remove old rows: the cost follows new or removed rows. */
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compareCursors, type EventCursor, type OutboxEvent } from '../../../src/domain/events.ts'
import { parseRetention } from '../../../src/domain/retention.ts'
import { removeOld } from '../../../src/scheduler/retention-service.ts'
import type { Database } from '../../../src/store/database.ts'
import { readEvents, readHorizon, readMatchingEvents } from '../../../src/store/sql/event/read-events.sql.ts'
import { countEvents, readEventWindow } from '../../../src/store/sql/event/read-event-page.sql.ts'
import {
  countKernelLogs,
  readKernelLogs,
  readLogTextPieces,
  readLogTextPlaces,
  seekLogText,
} from '../../../src/store/sql/agent/kernel-logs.sql.ts'
import { attributeReopenings } from '../../../src/store/sql/resubmission/open-resubmission.sql.ts'
import { readGauges } from '../../../src/store/sql/server.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { addManyChains } from '../../support/sessions/many-chains.ts'
import { analysedPlanOf, planOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordedDatabase, type RecordedStatement } from '../../support/database/recorded-database.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { webhookServer } from '../../support/servers/webhook-fixture.ts'
import { addRowsOfPeople, addRowsOfSessions } from '../../support/sessions/leftover-rows.ts'

const SESSIONS = 12_000
const GROWING = new Set([
  'sessions',
  'kernels',
  'chains',
  'retry_decisions',
  'session_events',
  'scheduling_history',
  'kernel_logs',
  'audit_log',
  'webhook_deliveries',
  'webhook_attempts',
  'resubmission_items',
])

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
  await addManyChains(database.db, SESSIONS, 3)
  await addRowsOfSessions(database.db)
  await addRowsOfPeople(database.db)
  await database.db.query(
    `UPDATE settings SET value = (SELECT jsonb_build_object('xid', xid::text, 'id', id::text) FROM session_events
       ORDER BY xid DESC, id DESC LIMIT 1) WHERE key = 'webhooks.cursor'`,
  )
})
afterAll(() => database?.close())

/** The statements that `work` sends. */
async function statementsOf(work: (db: Database) => Promise<unknown>): Promise<RecordedStatement[]> {
  const recorded = recordedDatabase(database.db)
  await work(recorded.db)
  return [...recorded.statements.values()].filter(({ text }) => !/^\s*(SET|CREATE|DROP)/.test(text))
}

async function readFromEndToEnd(statements: readonly RecordedStatement[]) {
  const read = []
  for (const statement of statements) {
    const tables = readWhole(await planOf(database.db, statement)).filter((table) => GROWING.has(table))
    if (tables.length > 0) read.push({ tables, text: statement.text })
  }
  return read
}

async function attemptsThatFailed(): Promise<number> {
  return (await database.db.query('SELECT FROM webhook_attempts WHERE error IS NOT NULL')).rowCount ?? 0
}

test('the outbox is read from the cursor on, for any filter', async () => {
  const chain = '00000000-0000-7000-9000-000000000035'
  const statements = await statementsOf(async (db) => {
    const horizon = await readHorizon(db)
    await readEvents(db, horizon, 500)
    for (const filter of [{ chainId: chain }, { sessionId: chain, types: new Set(['session.created'] as const) }]) {
      await readMatchingEvents(db, horizon, filter, { limit: 500, scannedMax: 1_000 })
    }
  })
  for (const statement of statements) {
    const nodes = await analysedPlanOf(database.db, statement)
    expect(rowsRead(nodes.filter((node) => node['Relation Name'] === 'session_events'))).toBe(0)
  }
  expect(await readFromEndToEnd(statements)).toEqual([])
  expect(statements).toHaveLength(3)
})

test('from an old cursor each statement looks at a bounded number of events, and gets somewhere', async () => {
  const { rows } = await database.db.query<{ chain: string; total: number; theirs: number }>(
    `SELECT chain_id AS chain, (SELECT count(*) FROM session_events) AS total, count(*) AS theirs FROM session_events
     WHERE chain_id = (SELECT chain_id FROM session_events WHERE chain_id IS NOT NULL ORDER BY xid DESC, id DESC LIMIT 1)
     GROUP BY 1`,
  )
  const { chain, total, theirs } = rows[0]!
  const scannedMax = Math.ceil(total / 20)
  let position: EventCursor = { xid: 0n, id: 0n }
  const found: OutboxEvent[] = []
  let reads = 0
  for (let more = true; more; reads++) {
    const recorded = recordedDatabase(database.db)
    const after = position
    const page = await readMatchingEvents(recorded.db, position, { chainId: chain }, { limit: 500, scannedMax })
    const [statement] = [...recorded.statements.values()]
    const nodes = await analysedPlanOf(database.db, statement!)
    expect(rowsRead(nodes.filter((node) => node['Relation Name'] === 'session_events'))).toBeLessThanOrEqual(scannedMax)
    expect(readWhole(nodes).filter((table) => GROWING.has(table))).toEqual([])
    if (page.more) expect(compareCursors(page.through, after)).toBe(1)
    found.push(...page.events)
    position = page.through
    more = page.more
  }
  expect(reads).toBeGreaterThan(15)
  expect(found).toHaveLength(theirs)
  expect(found.every(({ chainId }) => chainId === chain)).toBe(true)
})

test.each([
  ['forward', false],
  ['backward', true],
])('a page of past events is read %s from its place, and looks at a bounded number', async (_name, backward) => {
  const { rows } = await database.db.query<{ xid: string; id: string }>(
    `SELECT xid::text, id::text FROM session_events ORDER BY xid, id OFFSET (SELECT count(*) / 2 FROM session_events) LIMIT 1`,
  )
  const middle = { xid: BigInt(rows[0]!.xid), id: BigInt(rows[0]!.id) }
  const end = await readHorizon(database.db)
  const stretch = backward ? { after: { xid: 0n, id: 0n }, before: middle } : { after: middle, before: end }
  const filter = { sessionId: '00000000-0000-7000-9000-000000000035', types: new Set(['session.created'] as const) }
  const statements = await statementsOf(async (db) => {
    await readEventWindow(db, { ...stretch, filter, backward, limit: 21, scannedMax: 200 })
    await countEvents(db, stretch, { filter, scannedMax: 200 })
  })
  for (const statement of statements) {
    const nodes = await analysedPlanOf(database.db, statement)
    const read = nodes.filter((node) => node['Relation Name'] === 'session_events')
    expect(read.map((node) => node['Index Name'])).toEqual(['session_events_xid_id_idx'])
    expect(rowsRead(read)).toBe(200)
  }
  expect(statements).toHaveLength(2)
})

test('who reopened a chain is added to the events of its new attempts alone', async () => {
  const recorded = recordedDatabase(database.db)
  await attributeReopenings(recorded.db, ['00000000-0000-7000-9000-000000000035'], 'resubmitted by ann')
  const [statement] = [...recorded.statements.values()]
  const nodes = await analysedPlanOf(database.db, statement!)
  expect(nodes.flatMap((node) => node['Index Name'] ?? [])).toEqual(['sessions_pkey', 'session_events_xid_id_idx'])
  expect(rowsRead(nodes)).toBeLessThanOrEqual(2)
})

test('webhooks read only new events and due deliveries', async () => {
  const statements = await statementsOf(async (db) => {
    const server = testServer(db)
    for (let n = 0; n < 5; n++) await server.create()
    const webhooks = webhookServer(db)
    // Transactions of other databases may hold the horizon for a while.
    await eventually(async () => (await webhooks.run('fan-out-webhooks')) > 0)
    await webhooks.run('deliver-webhooks')
    // An endpoint that fails is tried by one attempt at a time.
    await eventually(async () => (await attemptsThatFailed()) > 0)
    await webhooks.run('fan-out-webhooks')
    await webhooks.run('expire-webhook-deliveries')
    await Promise.all(Object.values(webhooks.services).map((service) => service.stop()))
  })
  expect(await readFromEndToEnd(statements)).toEqual([])
  const idle = statements.find(({ text }) => text.includes('AS waiting'))!
  expect(rowsRead(await analysedPlanOf(database.db, idle))).toBeLessThan(10)
  // Fan-out, claims, attempts that failed, and what is too old.
  expect(statements.length).toBeGreaterThan(8)
})

test('old rows are found from the oldest end', async () => {
  const kept = parseRetention('29d')!
  const policy = {
    chains: kept,
    events: kept,
    logs: kept,
    audit: kept,
    agentHistory: kept,
    succeededCheckpoints: kept,
    failedCheckpoints: kept,
  }
  const statements = await statementsOf((db) =>
    removeOld({ db, log: pino({ enabled: false }) }, policy, new AbortController().signal),
  )
  // The whole batch is a large part of all history here: what goes is joined to it either way.
  const ofAgents = statements.find(({ text }) => text.includes(`entity = 'AGENT'`))!
  const indexes = (await planOf(database.db, ofAgents)).map((node) => node['Index Name'])
  expect(indexes).toContain('scheduling_history_agents')
  expect(await readFromEndToEnd(statements.filter((statement) => statement !== ofAgents))).toEqual([])
  const { rows } = await database.db.query<{ table: string; oldest: boolean }>(
    `SELECT 'chains' AS table, min(newest_activity_at) > now() - interval '29 days 1 minute' AS oldest FROM chains WHERE ended_at IS NOT NULL
     UNION ALL SELECT 'events', min(occurred_at) > now() - interval '29 days 1 minute' FROM session_events
     UNION ALL SELECT 'resubmissions', min(finished_at) > now() - interval '29 days 1 minute' FROM resubmissions`,
  )
  expect(rows.filter(({ oldest }) => !oldest)).toEqual([])
  expect(statements.length).toBeGreaterThan(12)
})

test('gauges and logs', async () => {
  const { rows } = await database.db.query<{ id: string }>('SELECT id FROM kernels LIMIT 3')
  const kernelIds = rows.map(({ id }) => id)
  const statements = await statementsOf(async (db) => {
    await readGauges(db)
    const window = { after: '0', before: null, piecesMax: 10, bytesMax: 1_000 }
    await readKernelLogs(db, kernelIds, { ...window, backward: false })
    await readKernelLogs(db, kernelIds, { ...window, before: '9', backward: true })
    await readKernelLogs(db, kernelIds, { ...window, since: new Date(0), backward: false })
    await countKernelLogs(db, kernelIds)
    const text = { kernelId: kernelIds[0]!, stream: null }
    await readLogTextPlaces(db, { ...text, afterId: '0', bytes: 0, everyBytes: 1_000, wantedId: null })
    await seekLogText(db, { ...text, byte: 10, from: { id: '0', begins: 0 }, lastId: '9' })
    await readLogTextPieces(db, { ...text, id: '0', lastId: '9', piecesMax: 10, bytesMax: 1_000 })
  })
  expect(await readFromEndToEnd(statements)).toEqual([])
  expect(statements).toHaveLength(7)
})
