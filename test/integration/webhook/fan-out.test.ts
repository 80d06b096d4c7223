/** The webhooks that receive an event. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFactories, type SessionRow } from '../../support/sessions/factories.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { writeDeploymentEvents, writeEvents } from '../../support/database/outbox.ts'
import { deliveryRows, webhookServer, type WebhookServer } from '../../support/servers/webhook-fixture.ts'
import { updateWebhook } from '../../../src/services/webhook/webhooks.ts'

const URL = 'https://example.com/hook'

let database: TestDatabase
let factory: ReturnType<typeof createFactories>
let server: WebhookServer
let session: SessionRow

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  factory = createFactories(database.db)
  server = webhookServer(database.db)
  session = await factory.session()
})

const event = (type: 'session.created' | 'session.error' | 'session.retry_held', of: SessionRow = session) => ({
  type,
  sessionId: of.id,
  chainId: of.chainId,
  projectId: of.projectId,
})
const types = async (webhookId: string) =>
  (await deliveryRows(database.db, webhookId)).map(({ eventType }) => eventType)

describe('receivers of an event', () => {
  test('those whose patterns match, once, in its order', async () => {
    const retries = await server.create({ url: URL, eventTypes: ['session.retry_*', 'session.retry_held'] })
    const all = await server.create({ url: URL, eventTypes: ['session.*'] })
    const errors = await server.create({ url: URL, eventTypes: ['session.error'] })
    await writeEvents(database.db, [event('session.created'), event('session.retry_held'), event('session.error')])
    await server.fanOut()
    expect(await types(retries.webhookId)).toEqual(['session.retry_held'])
    expect(await types(all.webhookId)).toEqual(['session.created', 'session.retry_held', 'session.error'])
    expect(await types(errors.webhookId)).toEqual(['session.error'])
  })

  test('those of its project and those of all; of its chain; of its labels', async () => {
    const projectId = await factory.project('other')
    const theirs = await factory.session({ projectId, labels: { team: 'red', tier: '1' } })
    const mine = await server.create({ url: URL, project: 'default' })
    const everybody = await server.create({ url: URL })
    const chain = await server.create({ url: URL, chainId: session.chainId })
    const red = await server.create({ url: URL, labels: [{ key: 'team', value: 'red' }] })
    const blue = await server.create({ url: URL, labels: [{ key: 'team', value: 'blue' }] })
    await writeEvents(database.db, [event('session.created'), event('session.error', theirs)])
    await server.fanOut()
    expect(await types(mine.webhookId)).toEqual(['session.created'])
    expect(await types(everybody.webhookId)).toEqual(['session.created', 'session.error'])
    expect(await types(chain.webhookId)).toEqual(['session.created'])
    expect(await types(red.webhookId)).toEqual(['session.error'])
    expect(await types(blue.webhookId)).toEqual([])
  })

  test('of a deployment or its routes: webhooks of its project and its labels, and none that follows a chain', async () => {
    const web = await factory.deployment({ name: 'web', labels: { team: 'red' } })
    const route = await factory.route(web, { port: 9_000 })
    const all = await server.create({ url: URL })
    const routes = await server.create({ url: URL, eventTypes: ['route.*'] })
    const red = await server.create({ url: URL, eventTypes: ['deployment.*'], labels: [{ key: 'team', value: 'red' }] })
    const blue = await server.create({ url: URL, labels: [{ key: 'team', value: 'blue' }] })
    const chain = await server.create({ url: URL, chainId: session.chainId })
    const elsewhere = await server.create({ url: URL, project: await factory.project('other').then(() => 'other') })
    const moved = { from: null, to: 'PROVISIONING', sessionId: route.session.id, revision: 1 }
    await writeDeploymentEvents(database.db, [
      { type: 'deployment.created', deploymentId: web.id, data: { replicas: 2, revision: 1 } },
      { type: 'route.status_changed', deploymentId: web.id, routeId: route.id, data: moved },
    ])
    await server.fanOut()
    expect(await types(all.webhookId)).toEqual(['deployment.created', 'route.status_changed'])
    expect(await types(routes.webhookId)).toEqual(['route.status_changed'])
    expect(await types(red.webhookId)).toEqual(['deployment.created'])
    for (const { webhookId } of [blue, chain, elsewhere]) expect(await types(webhookId)).toEqual([])
  })

  test('nobody who came later, or was disabled then', async () => {
    await writeEvents(database.db, [event('session.created')])
    const { webhookId } = await server.create({ url: URL })
    await server.fanOut()
    expect(await types(webhookId)).toEqual([])
    await updateWebhook(server.context, { webhookId, enabled: false })
    const other = await server.create({ url: URL })
    await writeEvents(database.db, [event('session.error')])
    // Fan-out comes to it when all this is over: what counts is when it was committed.
    await updateWebhook(server.context, { webhookId, enabled: true })
    const late = await server.create({ url: URL })
    await writeEvents(database.db, [event('session.retry_held')])
    await server.fanOut()
    expect(await types(webhookId)).toEqual(['session.retry_held'])
    expect(await types(other.webhookId)).toEqual(['session.error', 'session.retry_held'])
    expect(await types(late.webhookId)).toEqual(['session.retry_held'])
  })

  test('events of a transaction that began before the webhook and ended after it', async () => {
    let webhookId = ''
    await database.db.transaction(async (tx) => {
      await writeEvents(tx, [event('session.created')])
      webhookId = (await server.create({ url: URL })).webhookId
      await writeEvents(database.db, [event('session.error')])
      // The one that is committed may not be taken yet: a reader that did could never go back for the other.
      await server.run('fan-out-webhooks')
      expect(await types(webhookId)).toEqual([])
    })
    await server.fanOut()
    expect((await types(webhookId)).toSorted()).toEqual(['session.created', 'session.error'])
  })
})

test('a transaction that ends late is not passed by', async () => {
  const { webhookId } = await server.create({ url: URL })
  await writeEvents(database.db, [event('session.created')])
  await database.db.transaction(async (tx) => {
    await writeEvents(tx, [event('session.retry_held')])
    await writeEvents(database.db, [event('session.error')])
    await eventually(async () => (await server.run('fan-out-webhooks')) > 0)
    expect(await types(webhookId)).toEqual(['session.created'])
  })
  await server.fanOut()
  expect(await types(webhookId)).toEqual(['session.created', 'session.retry_held', 'session.error'])
})

test('servers side by side, again and again: each webhook has each event once', async () => {
  const hooks = [await server.create({ url: URL }), await server.create({ url: URL })]
  const others = [webhookServer(database.db), webhookServer(database.db)]
  await writeEvents(
    database.db,
    Array.from({ length: 4_100 }, () => event('session.created')),
  )
  await Promise.all([server, ...others].map((each) => each.fanOut()))
  for (const { webhookId } of hooks) {
    const rows = await deliveryRows(database.db, webhookId)
    expect(rows).toHaveLength(4_100)
    // Ids sort as the events do.
    expect(rows.map(({ id }) => id).toSorted()).toEqual(rows.map(({ id }) => id))
  }
})

test('a cursor that is set back makes no event a second delivery', async () => {
  const { webhookId } = await server.create({ url: URL })
  await writeEvents(database.db, [event('session.created'), event('session.error')])
  await server.fanOut()
  await database.db.query(`UPDATE settings SET value = '{"xid": "0", "id": "0"}' WHERE key = 'webhooks.cursor'`)
  await server.fanOut()
  expect(await types(webhookId)).toEqual(['session.created', 'session.error'])
})

test('with no webhook enabled an idle look writes nothing', async () => {
  await writeEvents(database.db, [event('session.created')])
  expect(await server.run('fan-out-webhooks')).toBe(0)
  const { rows } = await database.db.query(`SELECT value FROM settings WHERE key = 'webhooks.cursor'`)
  expect(rows[0]!['value']).toEqual({ xid: '0', id: '0' })
})
