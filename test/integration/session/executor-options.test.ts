/** Options of executors: set by a resource group, and by a session as far as its group allows. */
import { beforeEach, describe, expect, it } from 'vitest'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { createResourceGroup, updateResourceGroup } from '../../../src/services/resource-group.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import type { ResubmitSessionsInput } from '../../../src/services/resubmission/resubmission-input.ts'
import type { FakeAgent } from '../../support/agents/fake-agent.ts'
import { chainRows } from '../../support/database/session-rows.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'

const PARTITION = { key: 'partition', value: 'gpu' }
const QOS = { key: 'qos', value: 'low' }
const HIGH = { key: 'qos', value: 'high' }

const given = useFakeAgentApi()
let agent: FakeAgent

beforeEach(async () => {
  agent = await given.registered()
  await configure('default', { executorOptions: [PARTITION, QOS], allowedExecutorOptions: ['qos', 'constraint'] })
})

const configure = (name: string, options: object) => updateResourceGroup(given.server.context, { name, ...options })

const resubmit = (input: ResubmitSessionsInput) =>
  resubmitSessions({ ...given.server.context, prisma: given.api.database.prisma, sync: NO_SYNC_POINTS }, input)

async function create(input: object) {
  const { data, errors } = await given.api.query(
    `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
      ... on CreateSessionPayload { created session { sessionId executorOptions { key value } } }
      ... on ValidationError { issues { path message } } ... on Error { code } } }`,
    { input: { name: 'work', command: ['true'], ...input } },
    given.api.adminToken,
  )
  expect(errors).toBeUndefined()
  return data.createSession
}

/** The order for the one kernel that the agent prepares or starts. */
async function told(): Promise<unknown> {
  const { orders } = await agent.sync()
  expect(orders).toHaveLength(1)
  const [order] = orders
  return order!.want === 'STOP' ? order : order!.spec.executorOptions
}

describe('executor options', () => {
  it('are the group’s, and then those of the session', async () => {
    await create({ executorOptions: [HIGH, { key: 'constraint', value: 'a100&nvlink' }] })
    await driveAll(given.server, agent, 'PREPARING')
    const all = { partition: 'gpu', qos: 'high', constraint: 'a100&nvlink' }
    expect(await told()).toEqual(all)
    await agent.comply()
    await given.server.run('promote-to-prepared', 'start-sessions')
    expect(await told()).toEqual(all)
  })

  it('come with everything else that an executor may need of a session', async () => {
    await create({ name: 'named', priority: 7, batchTimeout: 1.5 })
    await driveAll(given.server, agent, 'PREPARING')
    const { orders } = await agent.sync()
    const expected = { sessionName: 'named', projectName: 'default', priority: 7, batchTimeoutMs: 1_500 }
    expect(orders).toMatchObject([{ spec: { ...expected, executorOptions: { partition: 'gpu', qos: 'low' } } }])
  })

  it('are kept by retries and resubmissions', async () => {
    const { session } = await create({ executorOptions: [HIGH], retryPolicy: { maxRetries: 1, retryDelay: 1 } })
    await driveAll(given.server, agent, 'RUNNING')
    await failWith(given.server, agent, 1)
    await advanceClock(given.api.db, 5)
    await given.server.run('dispatch-retries')
    await driveAll(given.server, agent, 'PREPARING')
    expect(await told()).toEqual({ partition: 'gpu', qos: 'high' })
    await driveAll(given.server, agent, 'RUNNING')
    await failWith(given.server, agent, 1)
    const [, retry] = await chainRows(given.api.db, session.sessionId)
    await resubmit({ sessionIds: [retry!.id] })
    await driveAll(given.server, agent, 'PREPARING')
    expect(await told()).toEqual({ partition: 'gpu', qos: 'high' })
  })

  it('that the group allows no longer do not count', async () => {
    const { session } = await create({ executorOptions: [HIGH] })
    await configure('default', { allowedExecutorOptions: [] })
    await driveAll(given.server, agent, 'PREPARING')
    expect(await told()).toEqual({ partition: 'gpu', qos: 'low' })
    expect(session.executorOptions).toEqual([HIGH])
  })

  it('of another group hold for a session that is resubmitted there', async () => {
    const { session } = await create({ executorOptions: [HIGH] })
    await driveAll(given.server, agent, 'RUNNING')
    await failWith(given.server, agent, 1)
    const options = { executorOptions: [{ key: 'entrypoint', value: 'none' }], allowedExecutorOptions: ['constraint'] }
    await createResourceGroup(given.server.context, { name: 'other', ...options })
    agent = await given.registered({ resourceGroup: 'other' })
    const overrides = { resourceGroup: 'other' }
    await resubmit({ sessionIds: [session.sessionId], overrides })
    await driveAll(given.server, agent, 'PREPARING')
    expect(await told()).toEqual({ entrypoint: 'none' })
  })
})

describe('a session', () => {
  const issuesOf = async (executorOptions: object[], input = {}) => (await create({ executorOptions, ...input })).issues

  it('sets the options that its group allows, and others are refused', async () => {
    const reservation = { key: 'reservation', value: 'r' }
    expect(await issuesOf([HIGH, PARTITION, reservation])).toEqual(
      [1, 2].map((index) => ({
        path: `executorOptions.${index}.key`,
        message: 'resource group default lets sessions set qos, constraint',
      })),
    )
    await configure('default', { allowedExecutorOptions: [] })
    const none = expect.stringContaining('lets sessions set no executor options')
    expect(await issuesOf([HIGH])).toMatchObject([{ message: none }])
  })

  it('has each of them once, in words', async () => {
    const bad = ['', 'a b', 'a\nb', '$(id)', '--wrap=id;', 'x'.repeat(129)]
    for (const value of bad) {
      expect(await issuesOf([{ key: 'qos', value }])).toMatchObject([{ path: 'executorOptions.0.value' }])
    }
    for (const key of ['', 'Q', '-qos', '__proto__', 'a=b', 'q'.repeat(65)]) {
      expect(await issuesOf([{ key, value: 'x' }])).toMatchObject([{ path: 'executorOptions.0.key' }])
    }
    expect(await issuesOf([QOS, HIGH])).toMatchObject([{ path: 'executorOptions.1.key' }])
    const many = Array.from({ length: 33 }, (_, at) => ({ key: `k${at}`, value: 'x' }))
    expect(await issuesOf(many)).toMatchObject([{ path: 'executorOptions' }])
  })

  it('that asks for others is another request, in another order the same', async () => {
    const constraint = { key: 'constraint', value: 'a' }
    const ask = (executorOptions: object[]) => create({ creationId: 'once', executorOptions })
    expect(await ask([QOS, constraint])).toMatchObject({ created: true })
    expect(await ask([constraint, QOS])).toMatchObject({ created: false })
    expect(await ask([constraint])).toMatchObject({ code: 'CREATION_ID_REUSED' })
  })

  it('also has them over REST', async () => {
    const response = await fetch(`${given.api.url}/v2/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${given.api.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'work', command: ['true'], executor_options: [HIGH] }),
    })
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 201,
      body: { executor_options: [HIGH] },
    })
  })
})

it('a group shows its options, and reports all faults of new ones', async () => {
  const { data } = await given.api.query(
    '{ resourceGroups { executorOptions { key value } allowedExecutorOptions } }',
    {},
    given.api.adminToken,
  )
  expect(data.resourceGroups).toEqual([
    { executorOptions: [QOS, PARTITION], allowedExecutorOptions: ['qos', 'constraint'] },
  ])
  const wrong = configure('default', {
    executorOptions: [{ key: 'qos', value: 'a b' }],
    allowedExecutorOptions: ['qos', 'qos'],
  })
  await expect(wrong).rejects.toMatchObject({
    issues: [{ path: 'executorOptions.0.value' }, { path: 'allowedExecutorOptions' }],
  })
})
