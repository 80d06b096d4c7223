/** Mutations and queries on webhooks and their deliveries. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { writeEvents } from '../../support/database/outbox.ts'
import type { SessionRow } from '../../support/sessions/factories.ts'
import { webhookServer, type WebhookServer } from '../../support/servers/webhook-fixture.ts'
import { webhookReceiver, type WebhookReceiver } from '../../support/servers/webhook-receiver.ts'

let server: TestServer
let worker: WebhookServer
let receiver: WebhookReceiver
let session: SessionRow
let member: string
let viewer: string
let stranger: string

beforeAll(async () => {
  server = await startGraphQLServer()
  worker = webhookServer(server.db)
  receiver = await webhookReceiver()
  const ours = await server.factory.project('ours')
  session = await server.factory.session({ projectId: ours })
  member = await server.factory.token({ role: 'MEMBER', projectId: ours })
  viewer = await server.factory.token({ role: 'VIEWER', projectId: ours })
  stranger = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project('theirs') })
})
afterAll(async () => {
  await receiver?.close()
  await server?.close()
})

const SHOWN = `webhookId url description eventTypes chainId labels { key value } enabled disabledReason project { name }`
const ISSUES = '... on ValidationError { issues { path message } }'
/** Mutations that take ids alone. */
const WITHOUT_ISSUES = new Set(['deleteWebhook', 'sendTestEvent', 'replayDelivery'])
const PAYLOADS: Record<string, string> = {
  createWebhook: `secret webhook { ${SHOWN} }`,
  updateWebhook: `webhook { ${SHOWN} }`,
  deleteWebhook: 'webhookId',
  rotateWebhookSecret: 'secret webhook { previousSecretExpiresAt }',
  sendTestEvent: 'delivery { deliveryId messageId eventType status payload }',
  replayDelivery: 'delivery { deliveryId status }',
  replayWebhook: 'replayed more webhook { webhookId }',
}

async function mutate(name: string, input: object, token = member): Promise<any> {
  const type = name[0]!.toUpperCase() + name.slice(1)
  const text = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename
    ... on ${type}Payload { ${PAYLOADS[name]} } ${WITHOUT_ISSUES.has(name) ? '' : ISSUES} ... on Error { code message } } }`
  const { data, errors } = await server.query(text, { input }, token)
  expect(errors).toBeUndefined()
  return data[name]
}

async function create(input: object = {}, token = member): Promise<{ webhookId: string; secret: string }> {
  const created = await mutate('createWebhook', { url: receiver.url, eventTypes: ['session.*'], ...input }, token)
  return { webhookId: created.webhook.webhookId, secret: created.secret }
}

const DELIVERIES = `query ($id: UUID!, $status: [WebhookDeliveryStatus!], $first: Int, $after: String) {
  webhookDeliveries(webhookId: $id, status: $status, first: $first, after: $after) { totalCount
    pageInfo { hasNextPage endCursor } edges { node { deliveryId status eventType sessionId finishedAt nextAttemptAt body payload
      webhook { webhookId } attempts { number statusCode error response durationSeconds } } } } }`

async function deliveries(id: string, more: object = {}, token = member): Promise<any[]> {
  const { data, errors } = await server.query(DELIVERIES, { id, ...more }, token)
  expect(errors).toBeUndefined()
  return data.webhookDeliveries.edges.map(({ node }: { node: object }) => node)
}

async function happens(count = 1): Promise<void> {
  const { id: sessionId, chainId, projectId } = session
  const data = { from: null, to: 'PENDING' }
  await writeEvents(
    server.db,
    Array.from({ length: count }, () => ({ sessionId, chainId, projectId, data })),
  )
}

describe('webhooks', () => {
  test('are created, listed, changed and deleted; the secret is shown once', async () => {
    const labels = [{ key: 'team', value: 'red' }]
    const created = await mutate('createWebhook', { url: receiver.url, eventTypes: ['session.retry_*'], labels })
    expect(created).toMatchObject({
      __typename: 'CreateWebhookPayload',
      secret: expect.stringMatching(/^whsec_/),
      webhook: { url: receiver.url, eventTypes: ['session.retry_*'], labels, enabled: true, project: { name: 'ours' } },
    })
    const { webhookId } = created.webhook
    const change = { webhookId, description: 'pager', eventTypes: ['session.error'], labels: null, enabled: false }
    expect((await mutate('updateWebhook', change)).webhook).toMatchObject({
      url: receiver.url,
      description: 'pager',
      eventTypes: ['session.error'],
      labels: [],
      enabled: false,
      disabledReason: null,
    })
    const list = `{ webhooks(enabled: false) { totalCount edges { node { ${SHOWN} } } } }`
    const listed = await server.query(list, {}, viewer)
    expect(listed.data.webhooks).toMatchObject({
      totalCount: 1,
      edges: [{ node: { webhookId, description: 'pager' } }],
    })
    expect(JSON.stringify(listed.data)).not.toContain('whsec_')
    expect(await mutate('deleteWebhook', { webhookId })).toEqual({ __typename: 'DeleteWebhookPayload', webhookId })
    expect(await mutate('deleteWebhook', { webhookId })).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' })
    const audit = await server.db.query(
      `SELECT action, details::text AS details FROM audit_log WHERE details ->> 'webhookId' = $1 ORDER BY id`,
      [webhookId],
    )
    expect(audit.rows.map((row) => row['action'])).toEqual(['webhook.create', 'webhook.update', 'webhook.delete'])
    const kept = created.secret.slice('whsec_'.length)
    expect(audit.rows.filter((row) => (row['details'] as string).includes(kept))).toEqual([])
  })

  test('all faults of an input are reported at once', async () => {
    const input = {
      url: 'ftp://user@x',
      eventTypes: ['session.eror', 'session.*'],
      description: '\0',
      labels: [{ key: '', value: 'v' }],
    }
    const refused = await mutate('createWebhook', input)
    expect(refused.issues.map(({ path }: { path: string }) => path)).toEqual([
      'url',
      'eventTypes.0',
      'description',
      'labels.0.key',
    ])
    expect(await mutate('createWebhook', { url: receiver.url, eventTypes: [] })).toMatchObject({
      code: 'VALIDATION_FAILED',
    })
    const { webhookId } = await create()
    expect(await mutate('updateWebhook', { webhookId, url: 'http://x:22' })).toMatchObject({
      issues: [{ path: 'url' }],
    })
    expect(await mutate('rotateWebhookSecret', { webhookId, overlapSeconds: -1 })).toMatchObject({
      issues: [{ path: 'overlapSeconds' }],
    })
    expect(await mutate('replayWebhook', { webhookId, since: '2020-01-01T00:00:00Z' })).toMatchObject({
      issues: [{ path: 'since' }],
    })
    await mutate('deleteWebhook', { webhookId })
  })

  test('there are no more in a project than may be, however many are created at once', async () => {
    const crowded = await server.factory.project('crowded')
    const given = { role: 'MEMBER', projectId: crowded } as const
    // A token has 16 requests in progress: with more, others would wait, on a busy machine too long.
    const tokens = await Promise.all(Array.from({ length: 4 }, () => server.factory.token(given)))
    const input = { url: receiver.url, eventTypes: ['*'], project: 'crowded' }
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, n) => mutate('createWebhook', input, tokens[n % 4])),
    )
    expect(results.filter(({ code }) => code === 'QUOTA_EXCEEDED')).toHaveLength(10)
  })
})

describe('of another project', () => {
  test('a webhook and its deliveries are not found', async () => {
    const { webhookId } = await create()
    await happens()
    await worker.deliver()
    const [delivery] = await deliveries(webhookId)
    expect(delivery).toMatchObject({ status: 'DELIVERED' })
    expect(await deliveries(webhookId, {}, stranger)).toEqual([])
    const ids = [`Webhook:${webhookId}`, `WebhookDelivery:${delivery.deliveryId}`]
    for (const id of ids.map((text) => Buffer.from(text).toString('base64'))) {
      const node = (token: string) => server.query('query ($id: ID!) { node(id: $id) { id } }', { id }, token)
      expect((await node(stranger)).data).toEqual({ node: null })
      expect((await node(viewer)).data).toEqual({ node: { id } })
    }
    const attempts: [string, object][] = [
      ['updateWebhook', { webhookId, enabled: false }],
      ['deleteWebhook', { webhookId }],
      ['rotateWebhookSecret', { webhookId }],
      ['sendTestEvent', { webhookId }],
      ['replayWebhook', { webhookId, since: new Date().toISOString() }],
      ['replayDelivery', { deliveryId: delivery.deliveryId }],
    ]
    for (const [name, input] of attempts) {
      expect([name, await mutate(name, input, stranger)]).toMatchObject([name, { __typename: 'NotFoundError' }])
      expect([name, await mutate(name, input, viewer)]).toMatchObject([name, { __typename: 'ForbiddenError' }])
    }
    expect(
      await mutate('createWebhook', { url: receiver.url, eventTypes: ['*'], project: 'ours' }, stranger),
    ).toMatchObject({
      code: 'PROJECT_NOT_FOUND',
    })
    await mutate('deleteWebhook', { webhookId })
  })

  test('and so is one of the whole cluster, which administrators of the cluster alone create', async () => {
    const { webhookId } = await create({}, server.adminToken)
    const { data } = await server.query('{ webhooks { edges { node { webhookId project { name } } } } }')
    expect(data.webhooks.edges).toContainEqual({ node: { webhookId, project: null } })
    const seen = await server.query('{ webhooks { edges { node { webhookId } } } }', {}, member)
    expect(JSON.stringify(seen.data)).not.toContain(webhookId)
    expect(await mutate('deleteWebhook', { webhookId })).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' })
    expect(await mutate('deleteWebhook', { webhookId }, server.adminToken)).toMatchObject({ webhookId })
  })
})

describe('deliveries', () => {
  test('are listed newest first, by status, with their attempts', async () => {
    const { webhookId } = await create()
    receiver.answerWith((response) => response.writeHead(500).end('out of order'))
    await happens()
    await worker.deliver()
    receiver.answerWith(200)
    await happens(2)
    await worker.deliver()
    const all = await deliveries(webhookId)
    expect(all.map(({ status }) => status)).toEqual(['DELIVERED', 'DELIVERED', 'PENDING'])
    expect(all[2]).toMatchObject({
      eventType: 'session.created',
      sessionId: session.id,
      webhook: { webhookId },
      finishedAt: null,
      nextAttemptAt: expect.any(String),
      attempts: [{ number: 1, statusCode: 500, error: null, response: 'out of order' }],
    })
    expect(JSON.parse(all[2].payload)).toMatchObject({ type: 'session.created', data: { session_id: session.id } })
    expect(all[2].body).toEqual(JSON.parse(all[2].payload))
    expect(await deliveries(webhookId, { status: ['PENDING'] })).toEqual([all[2]])
    const { data } = await server.query(DELIVERIES, { id: webhookId, first: 2 }, member)
    const { pageInfo, totalCount } = data.webhookDeliveries
    expect([totalCount, pageInfo.hasNextPage]).toEqual([3, true])
    expect(await deliveries(webhookId, { after: pageInfo.endCursor })).toEqual([all[2]])
    await mutate('deleteWebhook', { webhookId })
  })

  test('one is made again by hand, under the same id', async () => {
    const { webhookId } = await create()
    await happens()
    await worker.deliver()
    const [{ deliveryId }] = (await deliveries(webhookId)) as [{ deliveryId: string }]
    expect(await mutate('replayDelivery', { deliveryId })).toMatchObject({
      delivery: { deliveryId, status: 'PENDING' },
    })
    await worker.deliver()
    expect(await deliveries(webhookId)).toMatchObject([
      { status: 'DELIVERED', attempts: [{ number: 1 }, { number: 2 }] },
    ])
    expect(new Set(receiver.ids().slice(-2)).size).toBe(1)
    await mutate('updateWebhook', { webhookId, enabled: false })
    expect(await mutate('replayDelivery', { deliveryId })).toMatchObject({ code: 'WEBHOOK_DISABLED' })
    expect(await mutate('sendTestEvent', { webhookId })).toMatchObject({ code: 'WEBHOOK_DISABLED' })
    await mutate('deleteWebhook', { webhookId })
  })

  test('a replay sends failed and missed events, and no delivered ones', async () => {
    const { webhookId } = await create()
    await happens(2)
    await worker.deliver()
    receiver.answerWith(410)
    await happens(1)
    await worker.deliver()
    const other = await create()
    await happens(3)
    await worker.fanOut()
    await mutate('deleteWebhook', { webhookId: other.webhookId })
    receiver.answerWith(200)
    const before = receiver.received.length
    await mutate('updateWebhook', { webhookId, enabled: true })
    const since = new Date(Date.now() - 60_000).toISOString()
    const missed =
      (await server.db.query('SELECT FROM session_events WHERE session_id = $1', [session.id])).rowCount! - 2
    expect(await mutate('replayWebhook', { webhookId, since })).toMatchObject({ replayed: missed, more: false })
    expect(await mutate('replayWebhook', { webhookId, since })).toMatchObject({ replayed: 0 })
    await happens(1)
    await worker.deliver()
    expect(receiver.received.length - before).toBe(missed + 1)
    expect((await deliveries(webhookId, { first: 100 })).every(({ status }) => status === 'DELIVERED')).toBe(true)
    await mutate('deleteWebhook', { webhookId })
  })

  test('of a test event shows the request and the response', async () => {
    const { webhookId } = await create({ eventTypes: ['session.error'] })
    receiver.answerWith((response) => response.writeHead(404).end('nothing here'))
    const { delivery } = await mutate('sendTestEvent', { webhookId })
    expect(delivery).toMatchObject({
      eventType: 'webhook.test',
      status: 'PENDING',
      messageId: `msg_${delivery.deliveryId.replaceAll('-', '')}`,
    })
    await worker.deliver()
    expect(await deliveries(webhookId)).toMatchObject([
      { status: 'FAILED', payload: delivery.payload, attempts: [{ statusCode: 404, response: 'nothing here' }] },
    ])
    expect(receiver.received.at(-1)!.body).toBe(delivery.payload)
    await mutate('deleteWebhook', { webhookId })
  })
})

test('the secret before a rotation is shown to sign until the overlap is over', async () => {
  const { webhookId, secret } = await create()
  const rotated = await mutate('rotateWebhookSecret', { webhookId })
  expect(rotated.secret).not.toBe(secret)
  const hours = (Date.parse(rotated.webhook.previousSecretExpiresAt) - Date.now()) / 3_600_000
  expect(hours).toBeCloseTo(24, 1)
  expect(
    (await mutate('rotateWebhookSecret', { webhookId, overlapSeconds: 0 })).webhook.previousSecretExpiresAt,
  ).toBeNull()
})
