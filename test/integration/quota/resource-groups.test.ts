/** Resource groups: their settings, their fences, and the effects of draining or deleting one. */
import { describe, expect, it } from 'vitest'
import { updateDeployment } from '../../../src/services/deployment/change-deployment.ts'
import { createDeployment } from '../../../src/services/deployment/create-deployment.ts'
import { createResourceGroup, deleteResourceGroup, updateResourceGroup } from '../../../src/services/resource-group.ts'
import type { ServiceContext, Viewer } from '../../../src/services/service-context.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { type FakeAgent, fakeAgent } from '../../support/agents/fake-agent.ts'
import { decisionRow, kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const as = (viewer: Partial<Viewer>): ServiceContext => ({
  ...given.server.context,
  viewer: { ...given.server.context.viewer, ...viewer },
})
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    (error: unknown) => error,
  )

async function group(name: string): Promise<Record<string, unknown>> {
  const [row] = await given.sql(
    `SELECT sequencer, selector, tries_max, reschedules_max, pending_timeout_ms, prepare_timeout_ms, create_timeout_ms,
       queue_timeout_ms, terminate_timeout_ms, fence_after_ms, stop_grace_ms, stop_grace_max_ms, to_json(allowed_session_types) AS allowed,
       executor_options AS options, allowed_executor_options AS allowed_options,
       drained_at IS NOT NULL AS draining, drain_reason, deleted_at IS NOT NULL AS deleted
     FROM resource_groups WHERE name = $1`,
    [name],
  )
  return row!
}

const DEFAULTS = {
  sequencer: 'FIFO',
  selector: 'DISPERSED',
  tries_max: 5,
  reschedules_max: 3,
  pending_timeout_ms: null,
  prepare_timeout_ms: 900_000,
  create_timeout_ms: 600_000,
  queue_timeout_ms: null,
  terminate_timeout_ms: 120_000,
  fence_after_ms: 120_000,
  stop_grace_ms: 10_000,
  stop_grace_max_ms: 3_600_000,
  allowed: ['BATCH', 'INTERACTIVE', 'INFERENCE'],
  options: {},
  allowed_options: [],
  draining: false,
  drain_reason: null,
  deleted: false,
}

describe('a resource group', () => {
  it('is made with defaults, changed one by one, and deleted', async () => {
    const { context } = given.server
    await createResourceGroup(context, { name: 'gpu', selector: 'CONCENTRATED', pendingTimeout: 0.5 })
    const made = { ...DEFAULTS, selector: 'CONCENTRATED', pending_timeout_ms: 500 }
    expect(await group('gpu')).toEqual(made)
    const options = { executorOptions: [{ key: 'qos', value: 'low' }], allowedExecutorOptions: ['qos'] }
    await updateResourceGroup(context, { name: 'gpu', ...options })
    await updateResourceGroup(context, { name: 'gpu', executorOptions: null })
    Object.assign(made, { options: { qos: 'low' }, allowed_options: ['qos'] })
    expect(await group('gpu')).toEqual(made)
    await updateResourceGroup(context, { name: 'gpu', pendingTimeout: null, maxTries: 1, sequencer: null })
    expect(await group('gpu')).toEqual({ ...made, pending_timeout_ms: null, tries_max: 1 })
    await deleteResourceGroup(context, { name: 'gpu' })
    expect(await refusal(updateResourceGroup(context, { name: 'gpu' }))).toMatchObject({
      code: 'RESOURCE_GROUP_NOT_FOUND',
    })
    await createResourceGroup(context, { name: 'gpu' })
    expect(await group('gpu')).toEqual(DEFAULTS)
    expect(
      await given.sql(`SELECT action, actor FROM audit_log WHERE action LIKE 'resource_group%' ORDER BY id`),
    ).toMatchObject(
      ['create', 'update', 'update', 'update', 'delete', 'create'].map((what) => ({
        action: `resource_group.${what}`,
        actor: 'ada',
      })),
    )
  })

  it('reports all faults of an input at once', async () => {
    const { context } = given.server
    const fault = await refusal(
      createResourceGroup(context, {
        name: 'a b',
        maxTries: 0,
        maxReschedules: -1,
        pendingTimeout: 0,
        terminateTimeout: 1e300,
        fenceAfter: 1,
        allowedSessionTypes: [],
        drainReason: '\0',
      }),
    )
    expect((fault as { issues: { path: string }[] }).issues.map(({ path }) => path)).toEqual([
      'maxTries',
      'maxReschedules',
      'pendingTimeout',
      'terminateTimeout',
      'fenceAfter',
      'allowedSessionTypes',
      'drainReason',
      'name',
    ])
    const contradiction = updateResourceGroup(context, {
      name: 'default',
      stopGrace: 120,
      draining: false,
      drainReason: 'x',
    })
    expect(await refusal(contradiction)).toMatchObject({ issues: [{ path: 'stopGrace' }, { path: 'drainReason' }] })
    expect(await group('default')).toEqual(DEFAULTS)
  })

  it('is for administrators of the cluster, and its name is unique', async () => {
    for (const viewer of [{ role: 'MEMBER' }, { role: 'ADMIN', projectId: given.agent.id }] as const) {
      expect(await refusal(createResourceGroup(as(viewer), { name: 'g' }))).toMatchObject({ code: 'FORBIDDEN' })
      expect(await refusal(updateResourceGroup(as(viewer), { name: 'default' }))).toMatchObject({ code: 'FORBIDDEN' })
      expect(await refusal(deleteResourceGroup(as(viewer), { name: 'default' }))).toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await refusal(createResourceGroup(given.server.context, { name: 'default' }))).toMatchObject({
      code: 'NAME_TAKEN',
    })
  })

  it('is not deleted while agents, live sessions, deployments or retries that wait are its', async () => {
    const { server, sql } = given
    await createResourceGroup(server.context, { name: 'gpu' })
    const attempt = () => refusal(deleteResourceGroup(server.context, { name: 'gpu' }))
    const id = await server.create({ resourceGroup: 'gpu' })
    expect(await attempt()).toMatchObject({ code: 'RESOURCE_GROUP_IN_USE', message: /has 0 agents, 1 sessions/ })
    await sql(`UPDATE sessions SET status = 'CANCELLED', terminated_at = reprise_now() WHERE id = $1`, [id])
    const [failed] = await dueRetries(server.context, { count: 1 })
    await sql(`UPDATE sessions SET resource_group = 'gpu' WHERE id = $1`, [failed])
    expect(await attempt()).toMatchObject({ code: 'RESOURCE_GROUP_IN_USE', message: /and 1 waiting retry/ })
    await sql(`DELETE FROM retry_decisions`)
    const service = { name: 'web', command: ['serve'], resourceGroup: 'gpu', replicas: 0 }
    const { deploymentId } = await createDeployment(server.context, service)
    expect(await attempt()).toMatchObject({ code: 'RESOURCE_GROUP_IN_USE', message: /not finished, 1 deployments/ })
    await updateDeployment(server.context, { deploymentId, resourceGroup: 'default' })
    const agent = fakeAgent(server.gateway, { slots: { cpu: '1' }, resourceGroup: 'gpu' })
    await agent.register()
    expect(await attempt()).toMatchObject({ code: 'RESOURCE_GROUP_IN_USE', message: /has 1 agents/ })
    await sql(`UPDATE agents SET status = 'TERMINATED' WHERE id = $1`, [agent.id])
    expect(await attempt()).toBe('nothing')
    expect(await refusal(server.create({ resourceGroup: 'gpu' }))).toMatchObject({ code: 'RESOURCE_GROUP_NOT_FOUND' })
    expect(await refusal(agent.register())).toMatchObject({ code: 'RESOURCE_GROUP_NOT_FOUND' })
    expect(await refusal(deleteResourceGroup(server.context, { name: 'default' }))).toMatchObject({
      code: 'RESOURCE_GROUP_IN_USE',
    })
  })

  it('takes the types of sessions that it allows', async () => {
    const { server } = given
    await createResourceGroup(server.context, { name: 'batch', allowedSessionTypes: ['BATCH', 'INFERENCE'] })
    await server.create({ resourceGroup: 'batch' })
    const interactive = server.create({ resourceGroup: 'batch', sessionType: 'INTERACTIVE' })
    expect(await refusal(interactive)).toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [{ path: 'sessionType', message: 'resource group batch takes BATCH, INFERENCE only' }],
    })
  })
})

describe('a group whose agent is a cluster without ports', () => {
  const CLUSTER = {
    resourceGroup: 'cluster',
    slots: { cpu: '64' },
    says: { slotsPerKernelMax: { cpu: '4' }, ports: false },
  }
  const TWO = [{ slot: 'cpu', amount: '2' }]
  const service = { name: 's', replicas: 1, image: 'i', command: ['serve'], resourceGroup: 'cluster' }
  const message = 'resource group cluster takes BATCH only: ports of what runs on its agents cannot be reached'

  it('takes batch work only, and each kernel goes on a machine', async () => {
    const { server } = given
    const create = (input: object) => server.create({ resourceGroup: 'cluster', ...input })
    const interactive = () => refusal(create({ sessionType: 'INTERACTIVE' }))
    await createResourceGroup(server.context, { name: 'cluster' })
    // Nobody knows yet what its agents will be.
    await createDeployment(server.context, service)
    expect(await interactive()).toBe('nothing')
    const agent = fakeAgent(server.gateway, CLUSTER)
    await agent.register()
    expect(await interactive()).toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path: 'sessionType', message }] })
    expect(await refusal(createDeployment(server.context, { ...service, name: 't' }))).toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [{ path: 'resourceGroup', message }],
    })

    const [large, small, wide] = [
      await create({ resourceSlots: [{ slot: 'cpu', amount: '5' }] }),
      await create({ resourceSlots: [{ slot: 'cpu', amount: '4' }] }),
      await create({ resourceSlots: [{ slot: 'cpu', amount: '4' }], clusterMode: 'MULTI_NODE', clusterSize: 3 }),
    ]
    await server.run('watch-agents', 'schedule-sessions')
    const statuses = await Promise.all([large, small, wide].map((id) => sessionRow(given.db, id)))
    expect(statuses.map(({ status }) => status)).toEqual(['PENDING', 'PREPARING', 'PREPARING'])
    const reasons = await explainPendingSessions(server.context, [large])
    expect(reasons.get(large)).toEqual({
      text: expect.stringMatching(
        /^impossible: no machine of resource group cluster has more than cpu 4, it asks for 5; the nearest is \S+ with cpu 4$/,
      ),
      impossible: true,
    })

    await fakeAgent(server.gateway, { resourceGroup: 'cluster' }).register()
    expect(await interactive()).toBe('nothing')
  })

  it('beside others has no session that serves', async () => {
    const { server, db } = given
    await createResourceGroup(server.context, { name: 'cluster' })
    const [cluster, other] = [CLUSTER, { resourceGroup: 'cluster', slots: { cpu: '2' } }].map((one) =>
      fakeAgent(server.gateway, one),
    ) as [FakeAgent, FakeAgent]
    for (const agent of [cluster, other]) await agent.register()
    const create = (sessionType: 'BATCH' | 'INTERACTIVE') =>
      server.create({ resourceGroup: 'cluster', sessionType, resourceSlots: TWO })
    const [first, second] = [await create('INTERACTIVE'), await create('INTERACTIVE')]
    const batch = await create('BATCH')
    await server.run('watch-agents', 'schedule-sessions')
    expect((await kernelRows(db, first))[0]!.agent).toBe(other.id)
    expect((await kernelRows(db, second))[0]!.agent).toBeNull()
    expect((await kernelRows(db, batch))[0]!.agent).toBe(cluster.id)
    const reasons = await explainPendingSessions(server.context, [second])
    expect(reasons.get(second)?.text).toBe(
      'needs cpu 2, the most that an agent of resource group cluster has free is 0',
    )
    await db.query(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [other.id])
    expect((await explainPendingSessions(server.context, [second])).get(second)?.text).toBe(
      'ports of no agent of resource group cluster that it may go to and that is alive can be reached',
    )
  })

  it('is not kept from BATCH sessions by those that wait for ports, however many', async () => {
    const { server, db } = given
    await createResourceGroup(server.context, { name: 'cluster' })
    const [cluster, other] = [CLUSTER, { resourceGroup: 'cluster' }].map((one) => fakeAgent(server.gateway, one)) as [
      FakeAgent,
      FakeAgent,
    ]
    for (const agent of [cluster, other]) await agent.register()
    const create = (sessionType: 'BATCH' | 'INTERACTIVE') =>
      server.create({ resourceGroup: 'cluster', sessionType, resourceSlots: TWO })
    await server.run('watch-agents')
    await Promise.all(Array.from({ length: 60 }, () => create('INTERACTIVE')))
    await db.query(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [other.id])
    // While nothing starts, later passes read less of the queue.
    await server.run('schedule-sessions')
    const batch = await create('BATCH')
    await server.run('schedule-sessions')
    expect((await kernelRows(db, batch))[0]!.agent).toBe(cluster.id)
  })
})

describe('a fence that is made shorter', () => {
  const SHORT = { name: 'default', fenceAfter: 20 }

  it('counts for an agent only once the agent has it, so no attempt is alive twice', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 1, retryDelay: 0.001 } })
    await updateResourceGroup(server.context, SHORT)
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await server.settle()
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'PARENT_ALIVE' })
    await advanceClock(db, 100, { silentAgents: [agent.id] })
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED' })
  })

  it('holds for an agent that registers with nothing on it, and not before its kernels are gone', async () => {
    const { server, agent, sql } = given
    const fence = async () => (await sql('SELECT fence_after_ms FROM agents'))[0]!['fence_after_ms']
    const id = await sessionIn(server, agent, 'RUNNING')
    await updateResourceGroup(server.context, SHORT)
    await agent.register()
    expect(await fence()).toBe(120_000)
    const [kernel] = await kernelRows(given.db, id)
    agent.observe(kernel!.id, { status: 'EXITED', exitCode: 0 })
    await agent.sync()
    await agent.register()
    expect(await fence()).toBe(20_000)
    expect((await sessionRow(given.db, id)).status).toBe('RUNNING')
  })
})

describe('a group that is drained', () => {
  it('starts nothing new and reports why, running sessions continue, and a resume undoes it', async () => {
    const { server, agent, db } = given
    const running = await sessionIn(server, agent, 'RUNNING')
    await updateResourceGroup(server.context, { name: 'default', draining: true, drainReason: 'the machines move' })
    const waiting = await server.create()
    await server.run('schedule-sessions')
    expect(await sessionRow(db, waiting)).toMatchObject({
      status: 'PENDING',
      tries: 0,
      pendingReason: 'resource group default is being drained: the machines move',
    })
    await failWith(server, agent, 0)
    expect(await sessionRow(db, running)).toMatchObject({ status: 'TERMINATED' })
    await updateResourceGroup(server.context, { name: 'default', draining: false })
    await server.run('schedule-sessions')
    expect(await sessionRow(db, waiting)).toMatchObject({ status: 'PREPARING', pendingReason: null })
    expect(await group('default')).toEqual(DEFAULTS)
  })

  it('is not where a retry goes that avoids its own group, nor is one that takes no batch sessions', async () => {
    const { server, sql } = given
    for (const name of ['a-drained', 'b-interactive', 'c-open']) {
      await createResourceGroup(server.context, {
        name,
        ...(name === 'a-drained' && { draining: true }),
        ...(name === 'b-interactive' && { allowedSessionTypes: ['INTERACTIVE' as const] }),
      })
      await fakeAgent(server.gateway, { slots: { cpu: '4' }, resourceGroup: name }).register()
    }
    const [failed] = await dueRetries(server.context, { count: 1 })
    await sql(`UPDATE retry_decisions SET details = jsonb_set(details, '{avoid,groups}', '["default"]')`)
    await server.run('dispatch-retries')
    expect(await sql('SELECT resource_group FROM sessions WHERE parent_session_id = $1', [failed])).toEqual([
      { resource_group: 'c-open' },
    ])
  })
})
