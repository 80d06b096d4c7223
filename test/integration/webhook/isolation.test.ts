/** Endpoints that are dead or slow, and servers that share the deliveries. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_LEASE_MS,
  WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX,
} from '../../../src/domain/limits.ts'
import { deleteWebhook } from '../../../src/services/webhook/webhooks.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories, type SessionRow } from '../../support/sessions/factories.ts'
import { writeEvents } from '../../support/database/outbox.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
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

async function happens(count: number, { id, chainId, projectId } = session): Promise<void> {
  await writeEvents(
    database.db,
    Array.from({ length: count }, () => ({ sessionId: id, chainId, projectId, data: { from: null, to: 'PENDING' } })),
  )
}

const underWay = async () => (await deliveryRows(database.db)).filter((row) => row.underWay).length
const underWayAt = async (hooks: readonly { webhookId: string }[]) =>
  (await deliveryRows(database.db)).filter(
    (row) => row.underWay && hooks.some((hook) => hook.webhookId === row.webhookId),
  ).length

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

  test('is one of many: however many are dead, they have half of the places at once', async () => {
    const server = open()
    const hooks = await Promise.all(Array.from({ length: 40 }, () => server.create({ url: dead.url })))
    await database.db.query('UPDATE webhooks SET failing_since = reprise_now()')
    const healthy = await server.create({ url: alive.url })
    await happens(3)
    await server.fanOut()
    await server.run('deliver-webhooks')
    expect(await underWayAt(hooks)).toBe(WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX)
    // Each gives its place to another one when it is slow. Their project has at most half of what it may have for them.
    await eventually(async () => {
      await server.run('deliver-webhooks')
      // A received request is recorded a moment later.
      const rows = await deliveryRows(database.db, healthy.webhookId)
      const isDone = alive.received.length === 3 && rows.every((row) => !row.underWay)
      return isDone && (await underWayAt(hooks)) === WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX / 2
    })
    await server.run('deliver-webhooks')
    expect(await underWayAt(hooks)).toBe(WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX / 2)
    const perHook = await Promise.all(hooks.map(({ webhookId }) => deliveryRows(database.db, webhookId)))
    expect(Math.max(...perHook.map((rows) => rows.filter((row) => row.underWay).length))).toBe(1)
    expect(await webhookRow(database.db, healthy.webhookId)).toMatchObject({ failingSince: null })
  })

  test('keeps nobody waiting, also where many hang that never did before, and of one project', async () => {
    // Attempts that hang do so for longer than the test takes: nobody has the place of one that was given up.
    const server = open({ attemptTimeoutMs: 600_000 })
    const others = await Promise.all([1, 2, 3].map(otherProject))
    await Promise.all(Array.from({ length: 45 }, () => server.create({ url: dead.url, project: 'default' })))
    await Promise.all([4, 5].map(() => server.create({ url: alive.url, project: 'default' })))
    for (const { name } of others) await server.create({ url: alive.url, project: name })
    await happens(20)
    for (const other of others) await happens(20, other)
    await server.fanOut()
    const first = `SELECT count(*) AS count FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
      WHERE w.url = $1 AND d.status <> 'DELIVERED'`
    await eventually(async () => {
      await server.run('deliver-webhooks')
      return (await database.db.query<{ count: number }>(first, [alive.url])).rows[0]!.count === 0
    })
    expect(alive.received).toHaveLength(2 * 20 + 3 * 20)
    expect((await deliveryRows(database.db)).filter((row) => row.underWay).length).toBeGreaterThanOrEqual(45)
    // All hang by now, and none is asked for more than it may be, nor the project.
    for (let look = 0; look < 3; look++) await server.run('deliver-webhooks')
    const perHook = Map.groupBy(
      (await deliveryRows(database.db)).filter((row) => row.underWay),
      ({ webhookId }) => webhookId,
    )
    expect(perHook.size).toBe(45)
    const counts = [...perHook.values()].map((rows) => rows.length)
    expect(Math.max(...counts)).toBeLessThanOrEqual(WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX)
  })

  test('has as many attempts under way with several servers as with one', async () => {
    const running = [open(), open(), open()]
    await running[0]!.create({ url: dead.url })
    await happens(30)
    await running[0]!.fanOut()
    for (let look = 0; look < 3; look++) await Promise.all(running.map((server) => server.run('deliver-webhooks')))
    expect(await underWay()).toBe(WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX)
  })

  test('no server has more prompt attempts under way than it may', async () => {
    const server = open()
    const others = await Promise.all([1, 2, 3, 4].map(otherProject))
    for (const { name } of others)
      await Promise.all(Array.from({ length: 12 }, () => server.create({ url: dead.url, project: name })))
    for (const other of others) await happens(5, other)
    await server.fanOut()
    await server.run('deliver-webhooks')
    expect(await underWay()).toBe(WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX)
    const { rows } = await database.db.query<{ count: number }>(
      `SELECT count(*) AS count FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
       WHERE d.under_way GROUP BY w.project_id`,
    )
    // Each project has its part of the places, and first attempts come before second ones.
    expect(rows.map(({ count }) => count)).toEqual(others.map(() => WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX / 4))
  })

  test('is one of many projects: there is always room for another one', async () => {
    const server = open({ attemptTimeoutMs: 600_000 })
    const others = await Promise.all(Array.from({ length: 11 }, (_, index) => otherProject(index)))
    for (const { name } of others)
      await Promise.all(Array.from({ length: 50 }, () => server.create({ url: dead.url, project: name })))
    for (const other of others) await happens(1, other)
    await server.fanOut()
    const share = Math.floor(WEBHOOK_ATTEMPTS_AT_ONCE_MAX / (others.length + 1))
    await eventually(async () => {
      await server.run('deliver-webhooks')
      return (await underWay()) === others.length * share
    })
    await server.create({ url: alive.url, project: 'default' })
    await happens(5)
    await server.fanOut()
    await eventually(async () => {
      await server.run('deliver-webhooks')
      return alive.received.length === 5
    })
    expect(await underWay()).toBeLessThanOrEqual(WEBHOOK_ATTEMPTS_AT_ONCE_MAX)
  })
})

async function otherProject(index: number): Promise<SessionRow & { name: string }> {
  const name = `other-${index}`
  const factories = createFactories(database.db)
  return { ...(await factories.session({ projectId: await factories.project(name) })), name }
}

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
    await advanceClock(database.db, WEBHOOK_LEASE_MS / 1000 + 1)
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

test('a server that stops cuts off slow requests, and leaves them to the next server at once', async () => {
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

test('a webhook that is deleted during an attempt is removed with its deliveries', async () => {
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
