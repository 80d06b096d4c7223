/** The weekly summary of a project: once for each week, whatever crashes, with the figures that its pages show. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { summarizeWeeks } from '../../../src/scheduler/session/roll-up-figures.handler.ts'
import { readRetryInsights } from '../../../src/services/insight/read-figures.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { deliveryRows, webhookServer, type WebhookServer } from '../../support/servers/webhook-fixture.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { webhookReceiver } from '../../support/servers/webhook-receiver.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/** The next Monday, 00:00 UTC; the epoch began on a Thursday. */
const MONDAY_MS = (Math.floor((Date.now() - 4 * DAY_MS) / WEEK_MS) + 1) * WEEK_MS + 4 * DAY_MS

let database: TestDatabase
let factory: ReturnType<typeof createFactories>
let server: TestServer
let webhooks: WebhookServer

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  factory = createFactories(database.db)
  server = testServer(database.db)
  webhooks = webhookServer(database.db)
})

/** Moves the database's clock on to this time. */
async function reach(timeMs: number): Promise<void> {
  const { rows } = await database.db.query<{ now: Date }>('SELECT reprise_now() AS now')
  await advanceClock(database.db, (timeMs - rows[0]!.now.getTime()) / 1000)
}

const summarize = async () => (await server.run('weekly-summaries'))[0]
const events = async () =>
  (
    await database.db.query<{ projectId: string; data: any }>(
      `SELECT project_id AS "projectId", data FROM session_events WHERE type = 'insights.weekly' ORDER BY id`,
    )
  ).rows

/** Three days before its end: a chain that a retry saved, and one that was lost. */
async function failSome(endMs: number): Promise<void> {
  const createdAt = new Date(endMs - 3 * DAY_MS)
  await factory.chain(2, { status: 'TERMINATED', createdAt })
  await factory.chain(2, { status: 'ERROR', createdAt, retryPolicy: { maxRetries: 1 } })
  await server.run('group-failures', 'roll-up-figures')
}

test('has the figures of the week and of the week before, ten minutes after its end, once', async () => {
  const receiver = await webhookReceiver()
  await webhooks.create({ url: receiver.url, eventTypes: ['insights.weekly'] })
  const chain = (await factory.session()).chainId
  const ofChain = await webhooks.create({ url: 'https://example.com/hook', chainId: chain })
  const labelled = await webhooks.create({ url: 'https://example.com/hook', labels: [{ key: 'a', value: 'b' }] })
  await failSome(MONDAY_MS)
  await reach(MONDAY_MS + 9 * MINUTE_MS)
  expect(await summarize()).toBe(0)
  await reach(MONDAY_MS + 11 * MINUTE_MS)
  expect(await summarize()).toBe(1)
  expect(await summarize()).toBe(0)

  const window = { from: new Date(MONDAY_MS - WEEK_MS), to: new Date(MONDAY_MS) }
  const context = { ...server.context, prisma: database.prisma }
  const [shown] = await readRetryInsights(context, { groupBy: 'PROJECT', window })
  const { attempts, failed, retries, chainsSaved, chainsLost, slotSecondsLost, effectiveShare } = shown!
  const figures = { attempts, failed, retries, chainsSaved, chainsLost, slotSecondsLost, effectiveShare }
  expect(figures).toMatchObject({ attempts: 4, failed: 3, retries: 2, chainsSaved: 1, chainsLost: 1 })
  expect(figures.slotSecondsLost).toEqual({ cpu: 3, mem: 3 * 2 ** 20, gpu: 0 })
  const { data } = (await events())[0]!
  expect(data).toMatchObject({ from: window.from.toISOString(), to: window.to.toISOString(), figures })
  expect(data.before).toEqual({
    attempts: 0,
    failed: 0,
    retries: 0,
    chainsSaved: 0,
    chainsLost: 0,
    effectiveShare: null,
    slotSecondsLost: { cpu: 0, mem: 0, gpu: 0 },
  })
  expect(data.failureGroups).toMatchObject([{ title: 'exit code 3', failed: 3, cpuSecondsLost: 3 }])

  await webhooks.deliver()
  expect(receiver.received).toHaveLength(1)
  const payload: unknown = JSON.parse(receiver.received[0]!.body)
  expect(payload).toMatchObject({
    type: 'insights.weekly',
    data: {
      project: 'default',
      from: window.from.toISOString(),
      chains_saved: 1,
      slot_seconds_lost: slotSecondsLost,
      effective_share: effectiveShare,
      week_before: { attempts: 0, effective_share: null },
      failure_groups: [{ failure_group_id: data.failureGroups[0].failureGroupId, failed: 3, cpu_seconds_lost: 3 }],
    },
  })
  const types = async (id: string) => (await deliveryRows(database.db, id)).map(({ eventType }) => eventType)
  expect(await types(ofChain.webhookId)).not.toContain('insights.weekly')
  expect(await types(labelled.webhookId)).not.toContain('insights.weekly')

  await receiver.close()

  // The week after has nothing but the comparison, and then there is nothing to say.
  await reach(MONDAY_MS + WEEK_MS + 11 * MINUTE_MS)
  expect(await summarize()).toBe(1)
  expect((await events())[1]!.data).toMatchObject({ figures: data.before, before: figures, failureGroups: [] })
  await reach(MONDAY_MS + 2 * WEEK_MS + 11 * MINUTE_MS)
  expect(await summarize()).toBe(0)
})

test('is written once by two servers, and again after a crash', async () => {
  await failSome(MONDAY_MS)
  const other = await factory.project('other')
  await factory.chain(1, { status: 'ERROR', projectId: other, createdAt: new Date(MONDAY_MS - DAY_MS) })
  await server.run('roll-up-figures')
  await reach(MONDAY_MS + DAY_MS)
  const { db } = database
  const crash = new Error('crash')
  const sync = {
    ...NO_SYNC_POINTS,
    reached: (point: string) =>
      point === 'weekly-summaries:before-commit' ? Promise.reject(crash) : Promise.resolve(),
  }
  await expect(summarizeWeeks({ db, wake: server.hub, sync })).rejects.toBe(crash)
  expect(await events()).toEqual([])
  const both = [server, testServer(db)].map((each) => each.run('weekly-summaries'))
  expect((await Promise.all(both)).flat().reduce((sum, done) => sum + done, 0)).toBe(2)
  expect((await events()).map(({ projectId }) => projectId)).toContain(other)
  expect(await summarize()).toBe(0)
})

test('waits for attempts of the week that have not been added to the figures', async () => {
  await failSome(MONDAY_MS)
  await factory.session({ status: 'ERROR', createdAt: new Date(MONDAY_MS - 10_000), retryPolicy: { maxRetries: 0 } })
  await reach(MONDAY_MS + DAY_MS)
  expect(await summarize()).toBe(0)
  await server.run('roll-up-figures')
  expect(await summarize()).toBe(1)
  expect((await events())[0]!.data.figures.attempts).toBe(5)
  // One that ends in the present week does not hold it up.
  await reach(MONDAY_MS + WEEK_MS + DAY_MS)
  await factory.session({ status: 'ERROR', createdAt: new Date(MONDAY_MS + WEEK_MS + MINUTE_MS) })
  expect(await summarize()).toBe(1)
})
