/** Directories of agents under names: where sessions that ask for them go, and who may. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { AgentVolume } from '../../../src/domain/agent/protocol.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import type { PlayedAgent } from '../../support/agents/played-agent.ts'
import { chainRows, kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { usePlayedApi } from '../../support/servers/played-api.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'

const given = usePlayedApi()

const DATA: AgentVolume = { name: 'data', readOnly: true, projects: null }
const SECRET: AgentVolume = { name: 'secret', readOnly: false, projects: ['theirs'] }
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
  it('goes to an agent that has all of them, and its kernels are told', async () => {
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
    await passTime(given.api.db, 5)
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

  it('waits, and says for what, where no agent has them', async () => {
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
    expect(await pendingReason(written.session.sessionId)).toContain('to write to, though to read: mount it read-only')
  })

  it('does not keep those behind it waiting', async () => {
    const agent = await given.registered({ slots: { cpu: '1' } })
    await Promise.all(Array.from({ length: 60 }, () => given.server.create({ mounts: [MOUNT] })))
    const { session } = await create({})
    await given.server.run('schedule-sessions')
    expect((await kernelRows(given.api.db, session.sessionId))[0]!.agent).toBe(agent.id)
  })

  it('does not keep those behind it waiting where the line is longer than what a pass reads of it', async () => {
    const agent = await having({ ...DATA, name: 'models' })
    await Promise.all(Array.from({ length: 60 }, () => given.server.create({ mounts: [MOUNT] })))
    // Where nothing starts, later passes read less of the line.
    await given.server.run('schedule-sessions')
    const others = [await create({}), await create({ mounts: [{ ...MOUNT, volume: 'models' }] })]
    await given.server.run('schedule-sessions')
    for (const { session } of others) {
      expect((await kernelRows(given.api.db, session.sessionId))[0]!.agent).toBe(agent.id)
    }
  })

  it('is not told apart from one without by its project, where an agent has it for others', async () => {
    await having(SECRET)
    const ours = await create({ mounts: [{ ...MOUNT, volume: 'secret' }] })
    const absent = await create({ mounts: [{ ...MOUNT, volume: 'absent' }] })
    const reason = await pendingReason(ours.session.sessionId)
    expect(reason.replace('secret', 'absent')).toBe(await pendingReason(absent.session.sessionId))
  })
})

describe('what is asked for', () => {
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
  let agent: PlayedAgent

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

  it('has for each project what it may use, and for an administrator all', async () => {
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

  it('has what agents said last', async () => {
    await given.api.db.query(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [agent.id])
    expect(await volumes(theirs)).toEqual([
      { ...data, agents: 1 },
      { ...secret, agents: 0 },
    ])
  })

  it('has no place for what an agent makes up', async () => {
    const lies = [[{ ...DATA, name: '../../etc' }], [{ ...DATA, projects: ['a\0b'] }], [DATA, DATA]]
    for (const lie of lies) await expect(having(...lie)).rejects.toThrow(/volumes/)
  })
})
