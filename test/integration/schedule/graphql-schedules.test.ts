/** Schedules through GraphQL. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createScheduleService } from '../../../src/scheduler/run-schedules.handler.ts'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { pino } from 'pino'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { makeDue } from '../../support/servers/schedule-server.ts'
import { TEST_SECRETS } from '../../support/servers/test-secrets.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const CREATE = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { __typename
  ... on CreateSchedulePayload { schedule { id scheduleId name cron every timeZone overlap catchUp jitter paused owner
    nextRunAt nextRuns(first: 3) queued project { name } session { command maxRetries secretEnviron environ { name value } } } }
  ... on Error { code message } ... on ValidationError { issues { path } } } }`

const nightly = (name: string, more: object = {}) => ({
  input: {
    name,
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    session: {
      name: 'report',
      command: ['true'],
      environ: [{ name: 'A', value: '1' }],
      secretEnviron: [{ name: 'B', value: 'hidden' }],
      retryPolicy: { maxRetries: 2 },
    },
    ...more,
  },
})

test('is created, shown with its next runs, changed, and deleted', async () => {
  const { data } = await server.query(CREATE, nightly('nightly'))
  const { schedule } = data.createSchedule
  expect(schedule).toMatchObject({
    name: 'nightly',
    cron: '30 2 * * *',
    every: null,
    timeZone: 'Europe/Berlin',
    overlap: 'SKIP',
    catchUp: 1,
    jitter: 0,
    paused: false,
    queued: 0,
    project: { name: 'default' },
    session: { command: ['true'], maxRetries: 2, secretEnviron: ['B'], environ: [{ name: 'A', value: '1' }] },
  })
  expect(schedule.nextRuns).toHaveLength(3)
  expect(schedule.nextRunAt).toBe(schedule.nextRuns[0])
  const berlin = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' })
  expect(berlin.format(new Date(schedule.nextRuns[0]))).toBe('02:30')
  const taken = await server.query(CREATE, nightly('nightly'))
  expect(taken.data.createSchedule).toMatchObject({ __typename: 'ConflictError', code: 'NAME_TAKEN' })
  const input = { scheduleId: schedule.scheduleId, every: 90, overlap: 'QUEUE' }
  const updated = await server.query(
    `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
      ... on UpdateSchedulePayload { schedule { cron every overlap } } } }`,
    { input },
  )
  expect(updated.data.updateSchedule.schedule).toEqual({ cron: null, every: 90, overlap: 'QUEUE' })
  const listed = await server.query(
    `{ schedules(filter: { name: { equals: "nightly" } }) { totalCount edges { node { name } } } node(id: "${schedule.id}") { ... on Schedule { name } } }`,
  )
  expect(listed.data).toMatchObject({
    schedules: { totalCount: 1, edges: [{ node: { name: 'nightly' } }] },
    node: { name: 'nightly' },
  })
  const deleted = await server.query(
    `mutation ($input: DeleteScheduleInput!) { deleteSchedule(input: $input) { ... on DeleteSchedulePayload { deletedId } } }`,
    { input: { scheduleId: schedule.scheduleId } },
  )
  expect(deleted.data.deleteSchedule.deletedId).toBe(schedule.id)
})

test('faults are told all at once, under the names of the input', async () => {
  const { data } = await server.query(CREATE, nightly('bad', { cron: '99 * * * *', catchUp: -1, timeZone: 'Nowhere' }))
  expect(data.createSchedule.__typename).toBe('ValidationError')
  expect(data.createSchedule.issues.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    'catchUp',
    'cron',
    'timeZone',
  ])
})

test('its runs lead to their sessions, and the sessions back', async () => {
  const { data } = await server.query(CREATE, nightly('linked'))
  const id = data.createSchedule.schedule.scheduleId
  await makeDue(server.db, id)
  const parts = { db: server.db, wake: createWakeHub(), log: pino({ enabled: false }), metrics: createMetrics() }
  await createScheduleService({ ...parts, secrets: TEST_SECRETS, sync: NO_SYNC_POINTS }).runOnce()
  const RUNS = `query ($id: UUID!) { schedule(id: $id) { lastRuns { outcome chainId session { schedule { name } chain { state } } } }
    scheduleRuns(scheduleId: $id, first: 5) { totalCount edges { node { outcome count session { name } } } } }`
  const read = await server.query(RUNS, { id })
  expect(read.data).toMatchObject({
    schedule: {
      lastRuns: [{ outcome: 'STARTED', session: { schedule: { name: 'linked' }, chain: { state: 'LIVE' } } }],
    },
    scheduleRuns: { totalCount: 1, edges: [{ node: { outcome: 'STARTED', count: 1, session: { name: 'report' } } }] },
  })
  const now = await server.query(
    `mutation ($input: RunScheduleNowInput!) { runScheduleNow(input: $input) {
      ... on RunScheduleNowPayload { run { outcome askedBy reason } } } }`,
    { input: { scheduleId: id } },
  )
  expect(now.data.runScheduleNow.run).toMatchObject({ outcome: 'SKIPPED', reason: 'an earlier run is still running' })
})

test('another project sees nothing of it', async () => {
  const { data } = await server.query(CREATE, nightly('private'))
  const { id, scheduleId } = data.createSchedule.schedule
  const projectId = await server.factory.project()
  const token = await server.factory.token({ role: 'MEMBER', projectId })
  const seen = await server.query(
    `query ($uuid: UUID!, $id: ID!) { schedule(id: $uuid) { name } node(id: $id) { id } schedules { edges { node { name } } }
      scheduleRuns(scheduleId: $uuid) { totalCount } }`,
    { uuid: scheduleId, id },
    token,
  )
  expect(seen.data).toEqual({ schedule: null, node: null, schedules: { edges: [] }, scheduleRuns: { totalCount: 0 } })
  for (const [mutation, type] of [
    ['pauseSchedule', 'PauseScheduleInput'],
    ['resumeSchedule', 'ResumeScheduleInput'],
    ['runScheduleNow', 'RunScheduleNowInput'],
    ['deleteSchedule', 'DeleteScheduleInput'],
    ['updateSchedule', 'UpdateScheduleInput'],
  ]) {
    const text = `mutation ($input: ${type}!) { result: ${mutation}(input: $input) { ... on Error { code } } }`
    const { data: changed } = await server.query(text, { input: { scheduleId } }, token)
    expect([mutation, changed.result]).toEqual([mutation, { code: 'SCHEDULE_NOT_FOUND' }])
  }
})
