/** Volumes: directories of agents under names, who may use them, and those of each revision of a deployment. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { AgentVolume } from '../../../src/domain/agent/protocol.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import type { FakeAgent } from '../../support/agents/fake-agent.ts'
import { chainRows, kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { deploymentServer } from '../../support/servers/deployment-server.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'

const given = useFakeAgentApi()

const DATA: AgentVolume = { name: 'data', readOnly: true, projects: null }
const SECRET: AgentVolume = { name: 'secret', readOnly: false, projects: ['theirs'] }

describe('volumes of sessions', () => {
  const MOUNT = { volume: 'data', path: '/data', readOnly: true }

  const having = (...offered: AgentVolume[]) => given.registered({ slots: { cpu: '4' }, says: { volumes: offered } })

  async function create(input: object, token = given.api.adminToken) {
    const { data, errors } = await given.api.query(
      `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
      ... on CreateSessionPayload { created session { sessionId mounts { volume path readOnly } } }
      ... on ValidationError { issues { path message } } ... on Error { code } } }`,
      { input: { name: 'work', command: ['true'], ...input } },
      token,
    )
    expect(errors).toBeUndefined()
    return data.createSession
  }

  async function pendingReason(sessionId: string): Promise<string> {
    await given.server.run('schedule-sessions')
    const { data } = await given.api.query(
      'query ($id: UUID!) { session(id: $id) { status pendingReason } }',
      { id: sessionId },
      given.api.adminToken,
    )
    expect(data.session.status).toBe('PENDING')
    expect((await sessionRow(given.api.db, sessionId)).pendingReason).toBe(data.session.pendingReason)
    return data.session.pendingReason
  }

  async function volumes(token: string) {
    const { data, errors } = await given.api.query('{ volumes { name readOnly resourceGroups agents } }', {}, token)
    expect(errors).toBeUndefined()
    return data.volumes
  }

  describe('a session with volumes', () => {
    it('goes to an agent that has all of them, and its kernels get their paths', async () => {
      await having()
      await having({ ...DATA, name: 'other' })
      const agent = await having(DATA, { ...DATA, name: 'models' })
      const mounts = [{ ...MOUNT, volume: 'models', path: '/opt/models' }, MOUNT]
      const { session } = await create({ mounts })
      expect(session.mounts).toEqual([MOUNT, mounts[0]])
      await given.server.run('schedule-sessions', 'prepare-sessions')
      expect((await kernelRows(given.api.db, session.sessionId))[0]!.agent).toBe(agent.id)
      const { orders } = await agent.sync()
      expect(orders).toMatchObject([{ spec: { projectName: 'default', mounts: [MOUNT, mounts[0]] } }])
      const response = await fetch(`${given.api.url}/v2/sessions/${session.sessionId}`, {
        headers: { authorization: `Bearer ${given.api.adminToken}` },
      })
      expect(((await response.json()) as { mounts: unknown[] }).mounts[0]).toEqual({
        volume: 'data',
        path: '/data',
        read_only: true,
      })
    })

    it('keeps them in retries and resubmissions', async () => {
      const agent = await having(DATA)
      const { session } = await create({ mounts: [MOUNT], retryPolicy: { maxRetries: 1, retryDelay: 1 } })
      await driveAll(given.server, agent, 'RUNNING')
      await failWith(given.server, agent, 1)
      await advanceClock(given.api.db, 5)
      await given.server.run('dispatch-retries')
      await driveAll(given.server, agent, 'PREPARING')
      expect((await agent.sync()).orders).toMatchObject([{ spec: { attempt: 2, mounts: [MOUNT] } }])
      await driveAll(given.server, agent, 'RUNNING')
      await failWith(given.server, agent, 1)
      const [, retry] = await chainRows(given.api.db, session.sessionId)
      const context = { ...given.server.context, prisma: given.api.database.prisma, sync: NO_SYNC_POINTS }
      await resubmitSessions(context, { sessionIds: [retry!.id] })
      await driveAll(given.server, agent, 'PREPARING')
      expect((await agent.sync()).orders).toMatchObject([{ spec: { attempt: 3, mounts: [MOUNT] } }])
    })

    it('waits, and names the missing one, where no agent has them', async () => {
      await having(DATA)
      await having({ ...DATA, name: 'models' })
      const one = await create({ mounts: [{ ...MOUNT, volume: 'none' }] })
      expect(await pendingReason(one.session.sessionId)).toBe(
        'no agent of resource group default that is alive has volume none for project default',
      )
      const both = await create({ mounts: [MOUNT, { ...MOUNT, volume: 'models', path: '/models' }] })
      expect(await pendingReason(both.session.sessionId)).toBe(
        'no agent of resource group default that is alive has all of the volumes data, models for project default',
      )
      const written = await create({ mounts: [{ ...MOUNT, readOnly: false }] })
      expect(await pendingReason(written.session.sessionId)).toContain(
        'to write to, though to read: mount it read-only',
      )
    })

    it('does not keep those behind it waiting', async () => {
      const agent = await given.registered({ slots: { cpu: '1' } })
      await Promise.all(Array.from({ length: 60 }, () => given.server.create({ mounts: [MOUNT] })))
      const { session } = await create({})
      await given.server.run('schedule-sessions')
      expect((await kernelRows(given.api.db, session.sessionId))[0]!.agent).toBe(agent.id)
    })

    it('does not block those behind it in a queue longer than one pass reads', async () => {
      const agent = await having({ ...DATA, name: 'models' })
      await Promise.all(Array.from({ length: 60 }, () => given.server.create({ mounts: [MOUNT] })))
      // While nothing starts, later passes read less of the queue.
      await given.server.run('schedule-sessions')
      const others = [await create({}), await create({ mounts: [{ ...MOUNT, volume: 'models' }] })]
      await given.server.run('schedule-sessions')
      for (const { session } of others) {
        expect((await kernelRows(given.api.db, session.sessionId))[0]!.agent).toBe(agent.id)
      }
    })

    it('looks like a missing one to a project that may not use it', async () => {
      await having(SECRET)
      const ours = await create({ mounts: [{ ...MOUNT, volume: 'secret' }] })
      const absent = await create({ mounts: [{ ...MOUNT, volume: 'absent' }] })
      const reason = await pendingReason(ours.session.sessionId)
      expect(reason.replace('secret', 'absent')).toBe(await pendingReason(absent.session.sessionId))
    })
  })

  describe('requested volumes', () => {
    it.each<[string, object[], string, string]>([
      ['a path that is not absolute', [{ ...MOUNT, path: 'data' }], 'mounts.0.path', 'must be absolute'],
      ['a path that goes back', [{ ...MOUNT, path: '/data/../etc' }], 'mounts.0.path', 'without . and ..'],
      ['the root', [{ ...MOUNT, path: '/' }], 'mounts.0.path', 'must be absolute'],
      ['a slash at the end', [{ ...MOUNT, path: '/data/' }], 'mounts.0.path', 'must be absolute'],
      ['a comma', [{ ...MOUNT, path: '/data,ro' }], 'mounts.0.path', 'of letters, digits'],
      ['a line break', [{ ...MOUNT, path: '/data\n' }], 'mounts.0.path', 'of letters, digits'],
      ...['/work', '/chain/x', '/tmp', '/proc/self', '/sys', '/dev/shm'].map(
        (path): [string, object[], string, string] => [
          path,
          [{ ...MOUNT, path }],
          'mounts.0.path',
          'is used by the kernel itself',
        ],
      ),
      ['one place for two', [MOUNT, { ...MOUNT, volume: 'b' }], 'mounts.0.path', 'another volume is mounted at /data'],
      [
        'one within another',
        [MOUNT, { ...MOUNT, path: '/data/b' }],
        'mounts.1.path',
        'another volume is mounted at /data',
      ],
      ['a path as volume', [{ ...MOUNT, volume: '../data' }], 'mounts.0.volume', 'must be letters, digits'],
      ['a directory as volume', [{ ...MOUNT, volume: '/etc' }], 'mounts.0.volume', 'must be letters, digits'],
      ['too many', Array.from({ length: 17 }, (_, index) => ({ ...MOUNT, path: `/data${index}` })), 'mounts', '16'],
    ])('%s is refused', async (_, mounts, path, message) => {
      const { issues } = await create({ mounts })
      expect(issues).toContainEqual({ path, message: expect.stringContaining(message) as string })
    })

    it('in another order is the same, by its creation id', async () => {
      const mounts = [MOUNT, { volume: 'models', path: '/models' }]
      expect(await create({ mounts, creationId: 'one' })).toMatchObject({ created: true })
      expect(await create({ mounts: mounts.toReversed(), creationId: 'one' })).toMatchObject({ created: false })
      expect(await create({ mounts: [MOUNT], creationId: 'one' })).toMatchObject({ code: 'CREATION_ID_REUSED' })
    })
  })

  describe('the list of volumes', () => {
    const listed = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return ((await (await fetch(`${given.api.url}/v2/volumes`, { headers })).json()) as { items: unknown[] }).items
    }

    let ours: string
    let theirs: string
    let agent: FakeAgent

    beforeEach(async () => {
      const project = async (name: string) =>
        given.api.factory.token({ role: 'MEMBER', projectId: await given.api.factory.project(name) })
      ours = await project('ours')
      theirs = await project('theirs')
      agent = await having(DATA, SECRET)
      await having({ ...DATA, readOnly: false })
    })

    const data = { name: 'data', readOnly: false, resourceGroups: ['default'], agents: 2 }
    const secret = { name: 'secret', readOnly: false, resourceGroups: ['default'], agents: 1 }

    it('lists for each project what it may use, and for an administrator all', async () => {
      expect(await volumes(ours)).toEqual([data])
      expect(await volumes(theirs)).toEqual([data, secret])
      expect(await volumes(given.api.adminToken)).toEqual([data, secret])
    })

    it('is the same over REST', async () => {
      const [first, second] = [data, secret].map(({ readOnly, resourceGroups, ...rest }) => {
        return { ...rest, read_only: readOnly, resource_groups: resourceGroups }
      })
      expect(await listed(ours)).toEqual([first])
      expect(await listed(theirs)).toEqual([first, second])
      expect(await listed(given.api.adminToken)).toEqual([first, second])
    })

    it('lists the last report of each agent', async () => {
      await given.api.db.query(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [agent.id])
      expect(await volumes(theirs)).toEqual([
        { ...data, agents: 1 },
        { ...secret, agents: 0 },
      ])
    })

    it('ignores volumes that an agent invents', async () => {
      const lies = [[{ ...DATA, name: '../../etc' }], [{ ...DATA, projects: ['a\0b'] }], [DATA, DATA]]
      for (const lie of lies) await expect(having(...lie)).rejects.toThrow(/volumes/)
    })
  })
})

describe('volumes of deployments', () => {
  const OURS: AgentVolume = { name: 'ours', readOnly: false, projects: ['default'] }
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

  it('an update that omits them keeps them, another changes them, and a rollback restores them', async () => {
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

  it('checks again where volumes or resource group change, and not otherwise', async () => {
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

  it('lets replicas wait for a volume that its project has lost, and reports that', async () => {
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

  it('the database stores only lists of volumes', async () => {
    await having(OURS)
    await created({ mounts: [AT_OURS] })
    await expect(given.api.db.query(`UPDATE deployment_revisions SET mounts = '{}'`)).rejects.toThrow(
      'deployment_revisions_mounts',
    )
  })
})
