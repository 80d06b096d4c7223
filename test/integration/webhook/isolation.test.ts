/** Endpoints that are dead or slow, and servers that share the deliveries. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_LEASE_MS,
} from '../../../src/domain/limits.ts'
import { deleteWebhook } from '../../../src/services/webhook/delete-webhook.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories, type SessionRow } from '../../support/sessions/factories.ts'
import { writeEvents } from '../../support/database/outbox.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { deliveryRows, webhookRow, webhookServer, type WebhookServer } from '../../support/servers/webhook-fixture.ts'
import { webhookReceiver, type WebhookReceiver } from '../../support/servers/webhook-receiver.ts'

let database: TestDatabase
let session: SessionRow
let dead: WebhookReceiver
let alive: WebhookReceiver
const servers: WebhookServer[] = []

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  session = await createFactories(database.db).session()
  dead = await webhookReceiver()
  dead.hang()
  alive = await webhookReceiver()
})
afterEach(async () => {
  await Promise.all([dead.close(), alive.close()])
  await Promise.all(servers.splice(0).map(({ services }) => services['deliver-webhooks'].stop()))
})

function open(options: Parameters<typeof webhookServer>[1] = {}): WebhookServer {
  const server = webhookServer(database.db, options)
  servers.push(server)
  return server
}

async function happens(count: number): Promise<void> {
  const { id, chainId, projectId } = session
  await writeEvents(
    database.db,
    Array.from({ length: count }, () => ({ sessionId: id, chainId, projectId, data: { from: null, to: 'PENDING' } })),
  )
}

const underWay = async () => (await deliveryRows(database.db)).filter((row) => row.underWay).length

describe('an endpoint that is dead', () => {
  test('has few attempts under way at once, and keeps nobody else waiting', async () => {
    const server = open()
    const { webhookId } = await server.create({ url: dead.url })
    const healthy = await server.create({ url: alive.url })
    await happens(60)
    await server.fanOut()
    // Looks as the service has them: at each end of an attempt, and now and then.
    await eventually(async () => {
      await server.run('deliver-webhooks')
      return alive.received.length === 60
    })
    expect(dead.received).toHaveLength(WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX)
    expect((await deliveryRows(database.db, healthy.webhookId)).every(({ attempts }) => attempts === 1)).toBe(true)
    expect((await deliveryRows(database.db, webhookId)).filter((row) => row.underWay)).toHaveLength(
      WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
    )
  })

  test('is one of many: however many are dead, they have half of the places', async () => {
    const server = open()
    const hooks = await Promise.all(Array.from({ length: 40 }, () => server.create({ url: dead.url })))
    await database.db.query('UPDATE webhooks SET failing_since = reprise_now()')
    const healthy = await server.create({ url: alive.url })
    await happens(3)
    await server.fanOut()
    await eventually(async () => {
      await server.run('deliver-webhooks')
      // What has been received is booked a moment later.
      const rows = await deliveryRows(database.db, healthy.webhookId)
      return alive.received.length === 3 && rows.every((row) => !row.underWay)
    })
    await server.run('deliver-webhooks')
    expect(await underWay()).toBe(WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX)
    const perHook = await Promise.all(hooks.map(({ webhookId }) => deliveryRows(database.db, webhookId)))
    expect(Math.max(...perHook.map((rows) => rows.filter((row) => row.underWay).length))).toBe(1)
    expect(await webhookRow(database.db, healthy.webhookId)).toMatchObject({ failingSince: null })
  })

  test('no server has more attempts under way than it may', async () => {
    const server = open()
    await Promise.all(Array.from({ length: 12 }, () => server.create({ url: dead.url })))
    await happens(5)
    await server.fanOut()
    for (let look = 0; look < 5; look++) await server.run('deliver-webhooks')
    expect(await underWay()).toBe(WEBHOOK_ATTEMPTS_AT_ONCE_MAX)
  })
})

test('first attempts at one endpoint begin in the order of events', async () => {
  const server = open()
  await server.create({ url: alive.url })
  const { id, chainId, projectId } = session
  for (let n = 0; n < 30; n++) {
    await writeEvents(database.db, [{ sessionId: id, chainId, projectId, data: { from: null, to: `S${n}` } }])
  }
  const places: number[] = []
  alive.answerWith((response, { body }) => {
    places.push(Number(JSON.parse(body).data.status.slice(1)))
    response.end()
  })
  await server.deliver()
  // Up to four are under way at once, and may arrive in any order among themselves.
  expect(places).toHaveLength(30)
  for (const [index, place] of places.entries()) {
    expect(Math.abs(place - index)).toBeLessThan(WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX)
  }
})

describe('two servers', () => {
  test('share the work, and make no attempt twice', async () => {
    const [one, two] = [open(), open()]
    await one.create({ url: alive.url })
    await happens(200)
    await one.fanOut()
    await eventually(async () => {
      await Promise.all([one.run('deliver-webhooks'), two.run('deliver-webhooks')])
      return alive.received.length >= 200
    })
    await one.idle()
    expect(new Set(alive.ids()).size).toBe(200)
    expect(
      (await deliveryRows(database.db)).every(({ attempts, status }) => attempts === 1 && status === 'DELIVERED'),
    ).toBe(true)
  })

  test('of whom one books late: its lease is over, the other has the delivery, and only that one books', async () => {
    const { sync, gates } = syncGates('webhook:before-settle')
    const slow = open({ sync })
    const { webhookId } = await slow.create({ url: alive.url })
    alive.answerWith(500)
    await happens(1)
    await slow.fanOut()
    await slow.run('deliver-webhooks')
    await gates['webhook:before-settle']!.reached
    const other = open()
    await other.run('deliver-webhooks')
    expect(alive.received).toHaveLength(1)
    await passTime(database.db, WEBHOOK_LEASE_MS / 1000 + 1)
    alive.answerWith(200)
    await other.deliver()
    expect(await deliveryRows(database.db)).toMatchObject([{ status: 'DELIVERED', attempts: 2 }])
    gates['webhook:before-settle']!.open()
    await slow.services['deliver-webhooks'].stop()
    expect(await deliveryRows(database.db)).toMatchObject([{ status: 'DELIVERED', attempts: 2, failures: 0 }])
    expect(await webhookRow(database.db, webhookId)).toMatchObject({ failingSince: null })
    expect(new Set(alive.ids()).size).toBe(1)
    const { rows } = await database.db.query('SELECT number FROM webhook_attempts')
    expect(rows).toEqual([{ number: 2 }])
  })
})

test('a server that stops cuts off what takes too long, and leaves it to the next at once', async () => {
  const server = open()
  await server.create({ url: dead.url })
  await happens(1)
  await server.fanOut()
  await server.run('deliver-webhooks')
  await eventually(() => dead.received.length === 1)
  await server.services['deliver-webhooks'].stop()
  expect(await deliveryRows(database.db)).toMatchObject([{ status: 'PENDING', failures: 0, underWay: false }])
  dead.answerWith(200)
  const next = open()
  await next.deliver()
  expect(await deliveryRows(database.db)).toMatchObject([{ status: 'DELIVERED' }])
  expect(new Set(dead.ids()).size).toBe(1)
})

test('a webhook that is deleted while an attempt is under way is gone with all of it', async () => {
  const { sync, gates } = syncGates('webhook:before-settle')
  const server = open({ sync })
  const { webhookId } = await server.create({ url: alive.url })
  await happens(2)
  await server.fanOut()
  await server.run('deliver-webhooks')
  await gates['webhook:before-settle']!.reached
  await deleteWebhook(server.context, { webhookId })
  gates['webhook:before-settle']!.open()
  await server.services['deliver-webhooks'].stop()
  expect(await deliveryRows(database.db)).toEqual([])
  expect((await database.db.query('SELECT FROM webhook_attempts')).rowCount).toBe(0)
})
