/** Creating, scaling, updating and destroying deployments. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDeployment, type CreateDeploymentInput } from '../../../src/services/deployment/create-deployment.ts'
import {
  destroyDeployment,
  scaleDeployment,
  updateDeployment,
} from '../../../src/services/deployment/change-deployment.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { deploymentServer } from '../../support/servers/deployment-server.ts'
import { ADMIN, DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

const given = useScheduling()

const SERVICE: CreateDeploymentInput = { name: 'web', command: ['serve'] }

function as(viewer: Partial<ServiceContext['viewer']>): ServiceContext {
  return { ...given.server.context, viewer: { ...ADMIN, ...viewer } }
}

async function create(input: Partial<CreateDeploymentInput> = {}): Promise<string> {
  return (await createDeployment(given.server.context, { ...SERVICE, ...input })).deploymentId
}

function events(deploymentId: string) {
  return given.sql('SELECT type, data FROM session_events WHERE deployment_id = $1 ORDER BY id', [deploymentId])
}

async function row(deploymentId: string) {
  return (await given.sql('SELECT * FROM deployments WHERE id = $1', [deploymentId]))[0]!
}

function revisions(deploymentId: string) {
  return given.sql('SELECT * FROM deployment_revisions WHERE deployment_id = $1 ORDER BY revision', [deploymentId])
}

async function issues(work: Promise<unknown>): Promise<string[]> {
  const error = await work.then(
    () => ({ issues: [] }),
    (thrown: { issues: { path: string }[] }) => thrown,
  )
  return error.issues.map(({ path }) => path).toSorted()
}

describe('createDeployment', () => {
  it('stores the input and the other defaults, writes an event, and wakes the handlers', async () => {
    const woken: string[] = []
    given.server.hub.on('drive-deployments', () => woken.push('drive-deployments'))
    const id = await create({
      image: 'node',
      environ: [{ name: 'MODE', value: 'live' }],
      resourceSlots: [{ slot: 'mem', amount: '1g' }],
      labels: [{ key: 'team', value: 'a' }],
      healthCheck: { path: '/healthz', interval: 0.5, timeout: null },
      maxSurge: null,
      drain: 0.25,
    })
    expect(await row(id)).toMatchObject({
      project_id: DEFAULT_PROJECT_ID,
      name: 'web',
      status: 'PENDING',
      replicas: 1,
      min_healthy: null,
      max_surge: null,
      revision: 1,
      created_by: 'ada',
      creation_id: id,
    })
    expect(await revisions(id)).toMatchObject([
      {
        revision: 1,
        resource_group: 'default',
        image: 'node',
        command: ['serve'],
        priority: 10,
        environ: [{ name: 'MODE', value: 'live' }],
        labels: { team: 'a' },
        agent_labels: {},
        resource_slots: { mem: '1073741824' },
        port_variable: 'PORT',
        health_path: '/healthz',
        health_interval_ms: 500,
        health_timeout_ms: 2000,
        stale_after_ms: 7500,
        healthy_threshold: 1,
        unhealthy_threshold: 3,
        initial_delay_ms: 0,
        start_timeout_ms: 300_000,
        evict_after_ms: 10_000,
        drain_ms: 250,
        created_by: 'ada',
      },
    ])
    expect(await events(id)).toEqual([{ type: 'deployment.created', data: { replicas: 1, revision: 1 } }])
    expect(await given.sql(`SELECT actor, details FROM audit_log WHERE action = 'deployment.create'`)).toEqual([
      { actor: 'ada', details: { deploymentId: id, name: 'web', replicas: 1 } },
    ])
    expect(woken).toEqual(['drive-deployments'])
  })

  it('is one for one creation id, however many ask at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => createDeployment(given.server.context, { ...SERVICE, creationId: 'once' })),
    )
    expect(answers.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(answers.map(({ deploymentId }) => deploymentId)).size).toBe(1)
    expect(await events(answers[0]!.deploymentId)).toHaveLength(1)
  })

  it('has a unique name among those of its project that are not destroyed', async () => {
    const id = await create()
    await expect(create()).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await given.sql(`UPDATE deployments SET status = 'DESTROYED', destroyed_at = now() WHERE id = $1`, [id])
    expect(await create()).not.toBe(id)
  })

  it('needs a group that takes sessions of its kind', async () => {
    await expect(create({ resourceGroup: 'nowhere' })).rejects.toMatchObject({ code: 'RESOURCE_GROUP_NOT_FOUND' })
    await given.sql(`INSERT INTO resource_groups (name, allowed_session_types) VALUES ('batch', '{BATCH}')`)
    expect(await issues(create({ resourceGroup: 'batch' }))).toEqual(['resourceGroup'])
  })

  it('reports all faults at once', async () => {
    const faulty = create({
      name: 'Web_1',
      command: [],
      replicas: -1,
      minHealthy: 2,
      portVariable: 'HTTP_PORT',
      environ: [{ name: 'HTTP_PORT', value: '1' }],
      healthCheck: { path: '//elsewhere', interval: 10, timeout: 5, staleAfter: 15, healthyThreshold: 0 },
      drain: 1e9,
    })
    expect(await issues(faulty)).toEqual([
      'command',
      'drain',
      'environ.0.name',
      'healthCheck.healthyThreshold',
      'healthCheck.path',
      'healthCheck.staleAfter',
      'minHealthy',
      'name',
      'replicas',
    ])
    expect(await issues(create({ replicas: 2, minHealthy: 2, maxSurge: 0 }))).toEqual(['maxSurge'])
    expect(await given.sql('SELECT id FROM deployments')).toEqual([])
  })
})

describe('scaleDeployment', () => {
  it('changes the given fields, writes an event, and leaves the rest', async () => {
    const deploymentId = await create({ replicas: 3, minHealthy: 2 })
    await scaleDeployment(given.server.context, { deploymentId, replicas: 5 })
    await scaleDeployment(given.server.context, { deploymentId, minHealthy: null, maxSurge: 2 })
    await scaleDeployment(given.server.context, { deploymentId, replicas: 5 })
    expect(await row(deploymentId)).toMatchObject({ replicas: 5, min_healthy: null, max_surge: 2, revision: 1 })
    expect((await events(deploymentId)).slice(1)).toEqual([{ type: 'deployment.scaled', data: { from: 3, to: 5 } }])
    const audit = await given.sql(`SELECT details FROM audit_log WHERE action = 'deployment.scale' ORDER BY id`)
    expect(audit).toMatchObject([
      { details: { deploymentId, before: { replicas: 3 }, after: { replicas: 5, minHealthy: 2 } } },
      { details: { before: { minHealthy: 2 }, after: { replicas: 5, minHealthy: null, maxSurge: 2 } } },
    ])
  })

  it('refuses contradictory settings, but not to scale down', async () => {
    const deploymentId = await create({ replicas: 4, minHealthy: 3 })
    expect(await issues(scaleDeployment(given.server.context, { deploymentId, minHealthy: 5 }))).toEqual(['minHealthy'])
    await scaleDeployment(given.server.context, { deploymentId, replicas: 3 })
    expect(await issues(scaleDeployment(given.server.context, { deploymentId, maxSurge: 0 }))).toEqual(['maxSurge'])
    await scaleDeployment(given.server.context, { deploymentId, replicas: 0 })
    expect(await row(deploymentId)).toMatchObject({ replicas: 0, min_healthy: 3 })
  })
})

describe('updateDeployment', () => {
  it('adds a revision from the input and the previous one, without its failures', async () => {
    const deploymentId = await create({ labels: [{ key: 'team', value: 'a' }], image: 'node', drain: 1 })
    await given.sql('UPDATE deployments SET failures = 3, next_route_at = now()')
    await updateDeployment(given.server.context, {
      deploymentId,
      command: ['serve', '2'],
      image: null,
      healthCheck: { interval: 1 },
    })
    expect(await row(deploymentId)).toMatchObject({ revision: 2, failures: 0, next_route_at: null })
    const [before, after] = await revisions(deploymentId)
    expect(after).toEqual({
      ...before,
      revision: 2,
      command: ['serve', '2'],
      image: null,
      health_interval_ms: 1000,
      stale_after_ms: 9000,
      created_at: after!['created_at'],
    })
    expect((await events(deploymentId)).slice(1)).toEqual([{ type: 'deployment.updated', data: { from: 1, to: 2 } }])
    expect(await given.sql(`SELECT details FROM audit_log WHERE action = 'deployment.update'`)).toEqual([
      { details: { deploymentId, revision: 2, changed: ['image', 'command', 'healthIntervalMs', 'staleAfterMs'] } },
    ])
  })

  it('changes the GPUs of its routes field by field, and those of new slots end with them', async () => {
    const { server } = given
    const deploymentId = await create({ gpus: { count: 2, model: 'a100' } })
    const driver = deploymentServer(given.db)
    await driver.run('drive-deployments')
    await driver.run('drive-deployments')
    expect(await given.sql('SELECT gpu_need AS need, resource_slots AS slots FROM sessions')).toEqual([
      { need: { model: 'a100', memoryBytes: null }, slots: { cpu: '1', 'cuda.device': '2' } },
    ])
    const cpu = [{ slot: 'cpu', amount: '2' }]
    const changes = [
      { gpus: { memory: '40g' } },
      { gpus: { count: 1, model: null } },
      { priority: 3 },
      { resourceSlots: cpu },
      { gpus: { memory: '80g' }, resourceSlots: cpu },
      { gpus: { memory: null } },
      { gpus: { model: null, memory: null }, resourceSlots: cpu },
    ]
    for (const change of changes) await updateDeployment(server.context, { deploymentId, ...change })
    const found = (await revisions(deploymentId)).map(({ gpu_need: need, resource_slots: slots }) => [need, slots])
    const GIB = 2 ** 30
    expect(found).toEqual([
      [
        { model: 'a100', memoryBytes: null },
        { cpu: '1', 'cuda.device': '2' },
      ],
      [
        { model: 'a100', memoryBytes: 40 * GIB },
        { cpu: '1', 'cuda.device': '2' },
      ],
      [
        { model: null, memoryBytes: 40 * GIB },
        { cpu: '1', 'cuda.device': '1' },
      ],
      [
        { model: null, memoryBytes: 40 * GIB },
        { cpu: '1', 'cuda.device': '1' },
      ],
      [null, { cpu: '2' }],
      [
        { model: null, memoryBytes: 80 * GIB },
        { cpu: '2', 'cuda.device': '1' },
      ],
      [null, { cpu: '2', 'cuda.device': '1' }],
      [null, { cpu: '2' }],
    ])
    const twice = updateDeployment(server.context, {
      deploymentId,
      gpus: { count: 1, memory: 'x' },
      resourceSlots: [{ slot: 'cuda.device', amount: '1' }],
    })
    expect(await issues(twice)).toEqual(['gpus.count', 'gpus.memory'])
  })

  it('keeps an age limit until it is cleared', async () => {
    const deploymentId = await create({ healthCheck: { staleAfter: 30 } })
    await updateDeployment(given.server.context, { deploymentId, healthCheck: { interval: 1 } })
    await updateDeployment(given.server.context, { deploymentId, healthCheck: { staleAfter: null } })
    const stale = (await revisions(deploymentId)).map((revision) => revision['stale_after_ms'])
    expect(stale).toEqual([30_000, 30_000, 9_000])
  })

  it('is one where nothing differs, and each its own where several ask at once', async () => {
    const deploymentId = await create()
    await updateDeployment(given.server.context, { deploymentId, command: ['serve'], environ: null })
    expect(await revisions(deploymentId)).toHaveLength(1)
    await Promise.all(
      Array.from({ length: 4 }, (_, n) => updateDeployment(given.server.context, { deploymentId, priority: n })),
    )
    expect((await revisions(deploymentId)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4, 5])
  })

  it('reports all faults at once, those of kept fields among them', async () => {
    const deploymentId = await create({ environ: [{ name: 'HTTP_PORT', value: '1' }] })
    const faulty = updateDeployment(given.server.context, {
      deploymentId,
      portVariable: 'HTTP_PORT',
      priority: 101,
      healthCheck: { timeout: 0, staleAfter: 1 },
    })
    expect(await issues(faulty)).toEqual([
      'environ.0.name',
      'healthCheck.staleAfter',
      'healthCheck.timeout',
      'priority',
    ])
    await expect(
      updateDeployment(given.server.context, { deploymentId, resourceGroup: 'nowhere' }),
    ).rejects.toMatchObject({ code: 'RESOURCE_GROUP_NOT_FOUND' })
  })
})

describe('destroyDeployment', () => {
  it('has one event, keeps its history, and does not change any more', async () => {
    const deploymentId = await create()
    await destroyDeployment(given.server.context, { deploymentId, reason: 'enough' })
    await destroyDeployment(as({ name: 'bob' }), { deploymentId })
    expect(await row(deploymentId)).toMatchObject({
      status: 'DESTROYING',
      status_reason: 'enough',
      destroyed_by: 'ada',
      destroyed_at: null,
    })
    expect((await events(deploymentId)).slice(1)).toEqual([
      { type: 'deployment.status_changed', data: { from: 'PENDING', to: 'DESTROYING', reason: 'enough' } },
    ])
    expect(
      await given.sql(
        `SELECT entity, phase, from_status, to_status, result, message FROM scheduling_history WHERE entity_id = $1`,
        [deploymentId],
      ),
    ).toEqual([
      {
        entity: 'DEPLOYMENT',
        phase: 'destroy-deployment',
        from_status: 'PENDING',
        to_status: 'DESTROYING',
        result: 'SUCCESS',
        message: 'enough',
      },
    ])
    await expect(scaleDeployment(given.server.context, { deploymentId, replicas: 2 })).rejects.toMatchObject({
      code: 'DEPLOYMENT_DESTROYED',
    })
    await expect(updateDeployment(given.server.context, { deploymentId, priority: 2 })).rejects.toMatchObject({
      code: 'DEPLOYMENT_DESTROYED',
    })
    await given.sql(`UPDATE deployments SET status = 'DESTROYED', destroyed_at = now()`)
    await expect(destroyDeployment(given.server.context, { deploymentId })).rejects.toMatchObject({
      code: 'DEPLOYMENT_DESTROYED',
    })
  })
})

describe.each(Object.entries({ scaleDeployment, updateDeployment, destroyDeployment }))('%s', (_, change) => {
  it('is for those who may change, of their own project alone', async () => {
    const deploymentId = await create()
    const before = await row(deploymentId)
    await expect(change(as({ role: 'VIEWER' }), { deploymentId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const stranger = as({ role: 'MEMBER', projectId: randomUUID() })
    await expect(change(stranger, { deploymentId })).rejects.toMatchObject({ code: 'DEPLOYMENT_NOT_FOUND' })
    for (const id of [randomUUID(), 'web', '\0']) {
      const missing = change(as({}), { deploymentId: id })
      await expect(missing).rejects.toMatchObject({ code: 'DEPLOYMENT_NOT_FOUND' })
    }
    expect(await row(deploymentId)).toEqual(before)
    await change(as({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID }), { deploymentId })
  })
})
