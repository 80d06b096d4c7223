/** Delivery of webhooks: requests, schedules, and the outcome of failures. */
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { WEBHOOK_RETENTION_SECONDS } from '../../../src/domain/limits.ts'
import { sendTestEvent } from '../../../src/services/webhook/webhook-deliveries.ts'
import { rotateWebhookSecret, updateWebhook } from '../../../src/services/webhook/webhooks.ts'
import { readGauges } from '../../../src/store/sql/server.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { createFactories, type SessionRow } from '../../support/sessions/factories.ts'
import { metricValue } from '../../support/servers/metric-value.ts'
import { writeEvents } from '../../support/database/outbox.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { deliveryRows, webhookRow, webhookServer, type WebhookServer } from '../../support/servers/webhook-fixture.ts'
import { type Received, webhookReceiver, type WebhookReceiver } from '../../support/servers/webhook-receiver.ts'

let database: TestDatabase
let receiver: WebhookReceiver
let server: WebhookServer
let session: SessionRow

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  receiver = await webhookReceiver()
  server = webhookServer(database.db)
  session = await createFactories(database.db).session({
    status: 'ERROR',
    name: 'nightly',
    retryPolicy: { maxRetries: 3 },
  })
})
afterEach(() => receiver.close())

const RETRY = {
  attempt: 1,
  maxAttempts: 4,
  cause: 'KERNEL_NONZERO_EXIT',
  delaySeconds: 61,
  scheduledAt: '2026-11-21T12:00:00.000Z',
  childSessionId: null,
  reason: 'retry 1 of 3',
}
const STATUS = { from: 'TERMINATING', to: 'ERROR', reason: 'exit code 3' }

async function happens(type: 'session.retry_scheduled' | 'session.error' = 'session.retry_scheduled', count = 1) {
  const { id, chainId, projectId } = session
  const data = type === 'session.error' ? STATUS : RETRY
  const one = { type, sessionId: id, chainId, projectId, data }
  await writeEvents(
    database.db,
    Array.from({ length: count }, () => one),
  )
}

/** Verifies like a receiver whose clock is ahead like that of the database. */
function verify(secret: string, { body, headers }: Received, aheadSeconds = 0): unknown {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadSeconds * 1_000 })
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>)
  } finally {
    vi.useRealTimers()
  }
}

describe('a request', () => {
  test('matches docs/webhooks.md, field by field', async () => {
    const [example] = await blocksOfTest('test/integration/webhook/deliver.test.ts')
    const shown = JSON.parse(example!.text) as { type: string; timestamp: string; data: Record<string, unknown> }
    const { secret } = await server.create({ url: receiver.url })
    await happens('session.retry_scheduled')
    await server.deliver()
    const sent = verify(secret, receiver.received[0]!) as typeof shown
    expect(Object.keys(sent)).toEqual(Object.keys(shown))
    expect({ type: sent.type, timestamp: sent.timestamp.replaceAll(/\d/g, '0') }).toEqual({
      type: shown.type,
      timestamp: shown.timestamp.replaceAll(/\d/g, '0'),
    })
    expect(Object.keys(sent.data)).toEqual(Object.keys(shown.data))
    const fixed = Object.entries(shown.data).filter(([, value]) => !String(value).includes('…'))
    expect(fixed.length).toBeGreaterThan(5)
    expect(sent.data).toMatchObject(Object.fromEntries(fixed))
  })

  test('verifies with the published library, and contains the event', async () => {
    const { webhookId, secret } = await server.create({ url: `${receiver.url}?key=1` })
    await happens('session.retry_scheduled')
    await happens('session.error')
    await server.deliver()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(receiver.received.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(2).fill('POST /hook?key=1'))
    const bodies = receiver.received.map((request) => verify(secret, request) as { type: string; data: any })
    const common = {
      session_id: session.id,
      session_name: 'nightly',
      session_type: 'BATCH',
      project: 'default',
      chain_id: session.chainId,
      parent_session_id: null,
      attempt: 1,
      max_attempts: 4,
    }
    expect(bodies.toSorted((a, b) => (a.type < b.type ? 1 : -1))).toEqual([
      {
        type: 'session.retry_scheduled',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        data: {
          ...common,
          cause: 'KERNEL_NONZERO_EXIT',
          reason: 'retry 1 of 3',
          delay_seconds: 61,
          due_at: '2026-11-21T12:00:00.000Z',
          scheduled_at: '2026-11-21T12:00:00.000Z',
          child_session_id: null,
        },
      },
      {
        type: 'session.error',
        timestamp: expect.any(String),
        data: { ...common, previous_status: 'TERMINATING', status: 'ERROR', reason: 'exit code 3', exit_code: 3 },
      },
    ])
    expect(receiver.received[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': expect.stringMatching(/^msg_[0-9a-f]{32}$/),
    })
    expect(() => verify(`whsec_${'A'.repeat(43)}=`, receiver.received[0]!)).toThrow('No matching signature found')
    expect(await deliveryRows(database.db, webhookId)).toMatchObject([
      { status: 'DELIVERED', attempts: 1 },
      { status: 'DELIVERED', attempts: 1 },
    ])
    expect(await metricValue(server.metrics.registry, 'bai_webhook_attempts_total{outcome="delivered"}')).toBe(2)
  })

  test('carries two signatures after a rotation, until the old secret is out', async () => {
    const { webhookId, secret: old } = await server.create({ url: receiver.url })
    const { secret } = await rotateWebhookSecret(server.context, { webhookId, overlapSeconds: 3_600 })
    expect(secret).not.toBe(old)
    await happens()
    await server.deliver()
    const [both] = receiver.received
    expect((both!.headers['webhook-signature'] as string).split(' ')).toHaveLength(2)
    verify(old, both!)
    verify(secret, both!)
    await advanceClock(database.db, 3_601)
    await happens()
    await server.deliver()
    const after = receiver.received[1]!
    expect((after.headers['webhook-signature'] as string).split(' ')).toHaveLength(1)
    verify(secret, after, 3_601)
    expect(() => verify(old, after, 3_601)).toThrow('No matching signature found')
  })

  test('of a test event has one attempt', async () => {
    const { webhookId, secret } = await server.create({ url: receiver.url, eventTypes: ['session.error'] })
    receiver.answerWith(500)
    await sendTestEvent(server.context, { webhookId })
    await server.deliver()
    expect(verify(secret, receiver.received[0]!)).toMatchObject({
      type: 'webhook.test',
      data: { webhook_id: webhookId },
    })
    expect(await deliveryRows(database.db)).toMatchObject([{ status: 'FAILED', attempts: 1 }])
    expect(await webhookRow(database.db, webhookId)).toMatchObject({ enabled: true })
  })
})

describe('failed deliveries', () => {
  test('is tried ten times on the schedule of Standard Webhooks, with the same id and a new timestamp', async () => {
    const { webhookId } = await server.create({ url: receiver.url })
    receiver.answerWith(500)
    await happens()
    await server.deliver()
    for (const seconds of [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]) {
      const [row] = await deliveryRows(database.db)
      expect(row!.dueInMs / 1000).toBeGreaterThan(seconds - 5)
      expect(row!.dueInMs / 1000).toBeLessThanOrEqual(Math.min(seconds * 1.1, 86_400))
      await advanceClock(database.db, Math.max(0, row!.dueInMs / 1000 - 60))
      expect(await server.run('deliver-webhooks')).toBe(0)
      await advanceClock(database.db, 61)
      await server.deliver()
    }
    expect(await deliveryRows(database.db)).toMatchObject([{ status: 'FAILED', attempts: 10, failures: 10 }])
    expect(new Set(receiver.ids()).size).toBe(1)
    expect(receiver.received).toHaveLength(10)
    const { rows } = await database.db.query('SELECT number, status_code FROM webhook_attempts ORDER BY number')
    expect(rows).toEqual(Array.from({ length: 10 }, (_, index) => ({ number: index + 1, status_code: 500 })))
    // Three days in which nothing was delivered: the endpoint is given up, and everybody can see why.
    expect(await webhookRow(database.db, webhookId)).toMatchObject({
      enabled: false,
      disabledReason: expect.stringMatching(/^all attempts since \d{4}-\d\d-\d\d \d\d:\d\d UTC failed$/),
    })
    const audit = await database.db.query(`SELECT actor FROM audit_log WHERE action = 'webhook.disable'`)
    expect(audit.rows).toEqual([{ actor: 'scheduler' }])
  })

  test('does not disable an endpoint to which something else was delivered meanwhile', async () => {
    const { webhookId } = await server.create({ url: receiver.url })
    receiver.answerWith((response, { body }) => response.writeHead(body.includes('session.error') ? 200 : 500).end())
    await happens()
    for (let attempt = 1; attempt <= 10; attempt++) {
      if (attempt === 5) await happens('session.error')
      await server.deliver()
      await advanceClock(database.db, 100_000)
    }
    expect((await deliveryRows(database.db)).map(({ status }) => status)).toEqual(['FAILED', 'DELIVERED'])
    expect(await webhookRow(database.db, webhookId)).toMatchObject({ enabled: true, failingSince: expect.any(Date) })
  })

  test('410 disables the endpoint at once; waiting deliveries continue when it is enabled', async () => {
    const { webhookId } = await server.create({ url: receiver.url })
    receiver.answerWith(500)
    await happens()
    await server.deliver()
    receiver.answerWith(410)
    await happens('session.error')
    await server.deliver()
    expect(await webhookRow(database.db, webhookId)).toMatchObject({
      enabled: false,
      disabledReason: 'the endpoint answered 410 Gone',
    })
    await advanceClock(database.db, 10)
    await server.deliver()
    expect(receiver.received).toHaveLength(2)
    receiver.answerWith(204)
    await updateWebhook(server.context, { webhookId, enabled: true })
    await server.deliver()
    expect((await deliveryRows(database.db)).map(({ status }) => status)).toEqual(['DELIVERED', 'FAILED'])
    expect(await webhookRow(database.db, webhookId)).toMatchObject({
      enabled: true,
      disabledReason: null,
      failingSince: null,
    })
  })

  test('429 with Retry-After rests the whole endpoint, and no other', async () => {
    const busy = await server.create({ url: receiver.url, eventTypes: ['session.retry_*'] })
    await server.create({ url: `${receiver.url}/other`, eventTypes: ['session.error'] })
    receiver.answerWith((response) => response.writeHead(429, { 'retry-after': '600' }).end())
    await happens()
    await server.deliver()
    receiver.answerWith(200)
    await happens()
    await happens('session.error')
    await server.deliver()
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook/other'])
    expect((await deliveryRows(database.db, busy.webhookId))[0]!.dueInMs).toBeGreaterThan(590_000)
    await advanceClock(database.db, 601)
    await server.deliver()
    expect(receiver.received).toHaveLength(4)
    expect(await webhookRow(database.db, busy.webhookId)).toMatchObject({ restingUntil: null, failingSince: null })
  })
})

test('the metrics show the queue and its delay, without disabled endpoints', async () => {
  const { webhookId } = await server.create({ url: receiver.url })
  await happens('session.error', 3)
  await server.fanOut()
  await advanceClock(database.db, 90)
  const figures = async () => {
    const gauges = await readGauges(database.db)
    return ['webhookQueue', 'webhookOverdue'].map((name) => gauges.find(({ gauge }) => gauge === name)!.value)
  }
  const [queue, overdue] = await figures()
  expect(queue).toBe(3)
  expect(overdue).toBeGreaterThanOrEqual(90)
  await updateWebhook(server.context, { webhookId, enabled: false })
  expect(await figures()).toEqual([0, 0])
})

test('finished and abandoned deliveries are kept for a fortnight', async () => {
  await server.create({ url: receiver.url })
  await happens()
  await server.deliver()
  await advanceClock(database.db, WEBHOOK_RETENTION_SECONDS - 60)
  await happens()
  await server.deliver()
  expect(await server.run('expire-webhook-deliveries')).toBe(0)
  await advanceClock(database.db, 61)
  expect(await server.run('expire-webhook-deliveries')).toBe(1)
  expect(await deliveryRows(database.db)).toHaveLength(1)
  expect((await database.db.query('SELECT FROM webhook_attempts')).rowCount).toBe(1)
})
