/** Volumes of deployments: who may have them, and that every replica of every revision has its own revision's. */
import { expect, it } from 'vitest'
import type { AgentVolume } from '../../../src/domain/agent/protocol.ts'
import { deploymentServer } from '../../support/servers/deployment-server.ts'
import { usePlayedApi } from '../../support/servers/played-api.ts'

const given = usePlayedApi()

const DATA: AgentVolume = { name: 'data', readOnly: true, projects: null }
const OURS: AgentVolume = { name: 'ours', readOnly: false, projects: ['default'] }
const SECRET: AgentVolume = { name: 'secret', readOnly: false, projects: ['theirs'] }
const AT_DATA = { volume: 'data', path: '/data', readOnly: true }
const AT_OURS = { volume: 'ours', path: '/ours', readOnly: false }
const WEB = { name: 'web', command: ['serve'] }

const having = (...offered: AgentVolume[]) => given.registered({ slots: { cpu: '4' }, says: { volumes: offered } })

async function mutate(name: 'createDeployment' | 'updateDeployment', input: object) {
  const type = name[0]!.toUpperCase() + name.slice(1)
  const { data, errors } = await given.api.query(
    `mutation ($input: ${type}Input!) { ${name}(input: $input) {
      ... on ${type}Payload { deployment { deploymentId revision { number mounts { volume path readOnly } } } }
      ... on ValidationError { issues { path message } } ... on Error { code } } }`,
    { input },
    given.api.adminToken,
  )
  expect(errors).toBeUndefined()
  return data[name]
}

async function created(input: object = {}): Promise<string> {
  return (await mutate('createDeployment', { ...WEB, ...input })).deployment.deploymentId
}

async function rest(method: string, path: string, body?: object): Promise<Record<string, any>> {
  const response = await fetch(`${given.api.url}/v2/deployments${path}`, {
    method,
    headers: { authorization: `Bearer ${given.api.adminToken}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, ...((await response.json()) as object) }
}

async function sessionMounts(): Promise<unknown[]> {
  const { rows } = await given.api.db.query<{ mounts: unknown }>('SELECT mounts FROM sessions ORDER BY id')
  return rows.map(({ mounts }) => mounts)
}

it('gives each replica those of its revision', async () => {
  await having(OURS)
  const agent = await having(DATA, OURS)
  const deploymentId = await created({ replicas: 2, mounts: [AT_OURS, AT_DATA] })
  const deployments = deploymentServer(given.api.db)
  await deployments.run('drive-deployments')
  await given.server.run('schedule-sessions', 'prepare-sessions')
  const { orders } = await agent.sync()
  expect(orders.map((order) => 'spec' in order && order.spec.mounts)).toEqual([
    [AT_DATA, AT_OURS],
    [AT_DATA, AT_OURS],
  ])
  await mutate('updateDeployment', { deploymentId, mounts: [AT_OURS] })
  await deployments.run('drive-deployments')
  expect((await sessionMounts()).slice(2)).toEqual([[AT_OURS], [AT_OURS]])
})

it('keeps them in updates that say nothing of them, changes them in others, and goes back', async () => {
  await having(DATA, OURS)
  const deploymentId = await created({ mounts: [AT_OURS, AT_DATA] })
  const update = async (change: object) => {
    const { deployment } = await mutate('updateDeployment', { deploymentId, ...change })
    return [deployment.revision.number, deployment.revision.mounts]
  }
  expect(await update({ mounts: [AT_DATA, AT_OURS] })).toEqual([1, [AT_DATA, AT_OURS]])
  expect(await update({ priority: 20, mounts: null })).toEqual([2, [AT_DATA, AT_OURS]])
  expect(await update({ mounts: [{ volume: 'data', path: '/mnt', readOnly: true }] })).toEqual([
    3,
    [{ ...AT_DATA, path: '/mnt' }],
  ])
  expect(await update({ mounts: [] })).toEqual([4, []])
  expect(await update({ mounts: [AT_DATA, AT_OURS] })).toEqual([5, [AT_DATA, AT_OURS]])
})

it('is the same over REST', async () => {
  await having(DATA, OURS)
  const mounts = [{ volume: 'data', path: '/data', read_only: true }]
  const { id, ...deployment } = await rest('POST', '', { ...WEB, mounts })
  expect(deployment).toMatchObject({ status: 'PENDING', mounts })
  expect(await rest('PATCH', `/${id}`, { priority: 3 })).toMatchObject({ revision: 2, mounts })
  expect(await rest('PATCH', `/${id}`, { mounts: [{ volume: 'ours', path: '/ours' }] })).toMatchObject({
    revision: 3,
    mounts: [{ volume: 'ours', path: '/ours', read_only: false }],
  })
  expect(await rest('PATCH', `/${id}`, { mounts: [{ volume: 'secret', path: '/ours' }] })).toMatchObject({
    status: 422,
    code: 'VALIDATION_FAILED',
  })
})

const none = (volume: string) => `no agent of resource group default has volume ${volume} for project default`

it.each([
  ['what is for other projects', [{ ...AT_OURS, volume: 'secret' }], none('secret')],
  ['what is nowhere', [{ ...AT_OURS, volume: 'absent' }], none('absent')],
  ['to write to what is read-only', [{ ...AT_DATA, readOnly: false }], `${none('data')} to write to`],
  ['what no agent has together', [AT_OURS, { ...AT_DATA, volume: 'far' }], 'has all of the volumes far, ours'],
])('refuses %s', async (_, mounts, message) => {
  await having(DATA, OURS, SECRET)
  await having({ ...DATA, name: 'far' })
  const issue = { path: 'mounts', message: expect.stringContaining(message) as string }
  const refused = { code: 'VALIDATION_FAILED', issues: [issue] }
  expect(await mutate('createDeployment', { ...WEB, mounts })).toEqual(refused)
  const deploymentId = await created()
  expect(await mutate('updateDeployment', { deploymentId, mounts })).toEqual(refused)
})

it.each<[string, string]>([
  ['/data/../etc', 'without . and ..'],
  ['/proc/1', '/proc is used by the kernel itself'],
  ['/run/secrets', '/run is used by the kernel itself'],
  ...['/etc', '/etc/hosts', '/etc/resolv.conf', '/bin', '/.dockerenv'].map(
    (place) => [place, `container engines mount files of their own at ${place}`] satisfies [string, string],
  ),
  ['/ours', 'another volume is mounted at /ours'],
])('refuses %s as their path', async (path, message) => {
  const { issues } = await mutate('createDeployment', { ...WEB, mounts: [{ ...AT_DATA, path }, AT_OURS] })
  expect(issues[0]).toEqual({ path: 'mounts.0.path', message: expect.stringContaining(message) as string })
})

it('asks again where volumes or resource group change, and not for what stands', async () => {
  const agent = await having(OURS)
  await given.api.db.query(`INSERT INTO resource_groups (name) VALUES ('bare')`)
  const input = { mounts: [AT_OURS], creationId: 'web-1' }
  const deploymentId = await created(input)
  expect(await mutate('updateDeployment', { deploymentId, resourceGroup: 'bare' })).toMatchObject({
    issues: [{ path: 'mounts', message: none('ours').replace('default', 'bare') }],
  })
  await given.api.db.query(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [agent.id])
  expect(await mutate('updateDeployment', { deploymentId, mounts: [{ ...AT_OURS, path: '/o' }] })).toMatchObject({
    deployment: { revision: { number: 2 } },
  })
  await given.api.db.query(`UPDATE agents SET status = 'TERMINATED' WHERE id = $1`, [agent.id])
  expect(await mutate('updateDeployment', { deploymentId, priority: 3 })).toMatchObject({
    deployment: { revision: { number: 3 } },
  })
  expect(await created(input)).toBe(deploymentId)
})

it('lets replicas wait for a volume that its project has lost, and says so', async () => {
  const agent = await having(OURS)
  await created({ mounts: [AT_OURS] })
  const taken = JSON.stringify([{ ...OURS, projects: ['theirs'] }])
  await given.api.db.query('UPDATE agents SET volumes = $2 WHERE id = $1', [agent.id, taken])
  await deploymentServer(given.api.db).run('drive-deployments')
  await given.server.run('schedule-sessions')
  const { rows } = await given.api.db.query<{ status: string; reason: string }>(
    'SELECT status, pending_reason AS reason FROM sessions',
  )
  expect(rows).toEqual([
    {
      status: 'PENDING',
      reason: 'no agent of resource group default that is alive has volume ours for project default',
    },
  ])
})

it('cannot store what is no list of them', async () => {
  await having(OURS)
  await created({ mounts: [AT_OURS] })
  await expect(given.api.db.query(`UPDATE deployment_revisions SET mounts = '{}'`)).rejects.toThrow(
    'deployment_revisions_mounts',
  )
})
