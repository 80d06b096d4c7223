/** Operations of administrators: resource groups, agents, domains, projects, users, and the audit log. */
import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRefusalLog } from '../../../src/services/access/audit.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import { type AuditConditions, auditPageStatement } from '../../../src/store/sql/access/audit.sql.ts'
import { planOf } from '../../support/database/plans.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('resource groups and agents', () => {
  const GROUP = `name sequencer selector maxTries maxReschedules pendingTimeout prepareTimeout createTimeout queueTimeout
  terminateTimeout fenceAfter stopGrace allowedSessionTypes draining drainReason drainedAt`

  async function mutate(name: string, input: object, fields: string) {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const { data, errors } = await server.query(
      `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${fields} }
      ... on Error { code } } }`,
      { input },
    )
    expect(errors).toBeUndefined()
    return data[name]
  }

  test('a resource group is made, drained and deleted', async () => {
    const options = {
      name: 'gpu',
      sequencer: 'LIFO',
      selector: 'ROUND_ROBIN',
      maxTries: 2,
      maxReschedules: 0,
      pendingTimeout: 1.5,
      prepareTimeout: null,
      createTimeout: 60,
      queueTimeout: 7200,
      terminateTimeout: 30,
      fenceAfter: 45,
      stopGrace: 0,
      allowedSessionTypes: ['INFERENCE'],
    }
    const made = { ...options, draining: false, drainReason: null, drainedAt: null }
    expect(await mutate('createResourceGroup', options, `resourceGroup { ${GROUP} }`)).toEqual({
      __typename: 'CreateResourceGroupPayload',
      resourceGroup: made,
    })
    const drained = { name: 'gpu', draining: true, drainReason: 'moving' }
    expect(await mutate('updateResourceGroup', drained, `resourceGroup { ${GROUP} }`)).toEqual({
      __typename: 'UpdateResourceGroupPayload',
      resourceGroup: { ...made, ...drained, drainedAt: expect.any(String) },
    })
    const names = async () => (await server.query('{ resourceGroups { name } }')).data.resourceGroups
    expect(await names()).toEqual([{ name: 'default' }, { name: 'gpu' }])
    expect(await mutate('deleteResourceGroup', { name: 'gpu' }, 'name')).toEqual({
      __typename: 'DeleteResourceGroupPayload',
      name: 'gpu',
    })
    expect(await names()).toEqual([{ name: 'default' }])
    expect(await mutate('deleteResourceGroup', { name: 'default' }, 'name')).toMatchObject({
      __typename: 'InvalidStateError',
      code: 'RESOURCE_GROUP_IN_USE',
    })
  })

  test('an agent is drained, resumed and removed', async () => {
    const agentId = await server.factory.agent('worker')
    const fields = 'agent { name status drainReason drainedAt }'
    expect(await mutate('drainAgent', { agentId, reason: 'repair' }, fields)).toEqual({
      __typename: 'DrainAgentPayload',
      agent: { name: 'worker', status: 'DRAINING', drainReason: 'repair', drainedAt: expect.any(String) },
    })
    const resumed = { name: 'worker', status: 'ALIVE', drainReason: null, drainedAt: null }
    expect(await mutate('resumeAgent', { agentId }, fields)).toMatchObject({ agent: resumed })
    expect(await mutate('removeAgent', { agentId }, fields)).toMatchObject({ code: 'AGENT_IN_USE' })
    await mutate('drainAgent', { agentId }, fields)
    expect(await mutate('removeAgent', { agentId }, fields)).toMatchObject({ agent: { status: 'TERMINATED' } })
    expect(await mutate('drainAgent', { agentId: randomUUID() }, fields)).toMatchObject({ code: 'AGENT_NOT_FOUND' })
  })
})

describe('domains, projects, users and members', () => {
  async function mutate(name: string, input: object, fields: string, token?: string) {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const { data, errors } = await server.query(
      `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${fields} }
      ... on ValidationError { issues { path } } ... on Error { code } } }`,
      { input },
      token,
    )
    expect(errors).toBeUndefined()
    return data[name]
  }

  const names = (connection: { edges: { node: { name: string } }[] }) => connection.edges.map(({ node }) => node.name)

  test('a domain, a project and a user are made, limited, and what they do counts', async () => {
    expect(await mutate('createDomain', { name: 'physics' }, 'domain { name quota { maxPending } }')).toEqual({
      __typename: 'CreateDomainPayload',
      domain: { name: 'physics', quota: { maxPending: null } },
    })
    expect(await mutate('createProject', { name: 'cms', domain: 'physics' }, 'project { name domain }')).toEqual({
      __typename: 'CreateProjectPayload',
      project: { name: 'cms', domain: 'physics' },
    })
    expect(await mutate('createProject', { name: 'plain' }, 'project { domain }')).toMatchObject({
      project: { domain: 'default' },
    })
    const user = await mutate('createUser', { name: 'ulla@example.org' }, 'user { name userId quota { maxRunning } }')
    expect(user).toMatchObject({ user: { name: 'ulla@example.org', quota: { maxRunning: null } } })
    const quota = { scope: 'USER', name: 'ulla@example.org', maxRunning: 3 }
    expect(await mutate('setQuota', quota, 'quota { maxRunning }')).toMatchObject({ quota: { maxRunning: 3 } })
    const { data } = await server.query(
      '{ users { edges { node { name quota { maxRunning } } } } domains { edges { node { name } } } }',
    )
    expect(data.users.edges).toEqual([{ node: { name: 'ulla@example.org', quota: { maxRunning: 3 } } }])
    expect(names(data.domains)).toEqual(['default', 'physics'])
    const { rows } = await server.db.query(
      `SELECT action FROM audit_log WHERE action ~ '^(domain|project|user).create' ORDER BY id`,
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'domain.create',
      'project.create',
      'project.create',
      'user.create',
    ])
  })

  test('members come, change and go, and tenants see their own', async () => {
    const memberships = async (token?: string) =>
      (
        await server.query('{ users { edges { node { name memberships { project { name } role } } } } }', {}, token)
      ).data.users.edges.map(({ node }: { node: object }) => node)
    await mutate('createUser', { name: 'max' }, 'user { name }')
    const max = { project: 'default', user: 'max' }
    await mutate('setProjectMember', { ...max, role: 'VIEWER' }, 'project { name }')
    expect(await mutate('setProjectMember', { ...max, role: 'MEMBER' }, 'project { name }')).toMatchObject({
      project: { name: 'default' },
    })
    await mutate('setProjectMember', { project: 'cms', user: 'max', role: 'ADMIN' }, 'project { name }')
    expect((await memberships()).at(0)).toEqual({
      name: 'max',
      memberships: [
        { project: { name: 'cms' }, role: 'ADMIN' },
        { project: { name: 'default' }, role: 'MEMBER' },
      ],
    })
    const viewer = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
    const seen = [{ name: 'max', memberships: [{ project: { name: 'default' }, role: 'MEMBER' }] }]
    expect(await memberships(viewer)).toEqual(seen)
    expect(names((await server.query('{ domains { edges { node { name } } } }', {}, viewer)).data.domains)).toEqual([
      'default',
    ])
    await mutate('removeProjectMember', max, 'project { name }')
    await mutate('removeProjectMember', max, 'project { name }')
    expect(await memberships(viewer)).toEqual([])
    const { rows } = await server.db.query(
      `SELECT details ->> 'before' AS before, details ->> 'after' AS after FROM audit_log
     WHERE action = 'project.set_member' AND project_id = $1 ORDER BY id`,
      [DEFAULT_PROJECT_ID],
    )
    expect(rows).toEqual([
      { before: null, after: 'VIEWER' },
      { before: 'VIEWER', after: 'MEMBER' },
      { before: 'MEMBER', after: null },
    ])
  })

  test('faults are members of the result', async () => {
    expect(await mutate('createDomain', { name: 'a b' }, 'domain { name }')).toMatchObject({
      issues: [{ path: 'name' }],
    })
    expect(await mutate('createDomain', { name: 'default' }, 'domain { name }')).toMatchObject({ code: 'NAME_TAKEN' })
    expect(await mutate('createProject', { name: 'default' }, 'project { name }')).toMatchObject({ code: 'NAME_TAKEN' })
    expect(await mutate('createProject', { name: 'p', domain: 'nope' }, 'project { name }')).toMatchObject({
      code: 'DOMAIN_NOT_FOUND',
    })
    const set = (input: object) => mutate('setProjectMember', input, 'project { name }')
    expect(await set({ project: 'nope', user: 'max', role: 'MEMBER' })).toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    expect(await set({ project: 'default', user: 'nope', role: 'MEMBER' })).toMatchObject({ code: 'USER_NOT_FOUND' })
    expect(await set({ project: 'default', user: 'max', role: 'AGENT' })).toMatchObject({ issues: [{ path: 'role' }] })
    const admin = await server.factory.token({ role: 'ADMIN', projectId: DEFAULT_PROJECT_ID })
    expect(await mutate('createUser', { name: 'u' }, 'user { name }', admin)).toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('the audit log', () => {
  let projectId: string
  let admin: string
  let member: string
  let viewer: string
  beforeAll(async () => {
    projectId = await server.factory.project('audited')
    admin = await server.factory.token({ role: 'ADMIN', projectId })
    member = await server.factory.token({ role: 'MEMBER', projectId })
    viewer = await server.factory.token({ role: 'VIEWER', projectId })
  })

  const ENTRY = 'entryId at actor tokenId userId requestId address action projectId sessionId details'
  const LOG = `query ($filter: AuditFilter, $first: Int, $after: String, $last: Int, $before: String) {
  auditLog(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
  totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { node { ${ENTRY} } } } }`
  const CREATE =
    'mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename ... on Error { code } } }'
  const WORK = { name: 'work', command: ['true'], project: 'audited' }

  async function log(filter: object = {}, token?: string) {
    const { data, errors } = await server.query(LOG, { filter, first: 100 }, token)
    expect(errors).toBeUndefined()
    return data.auditLog.edges.map(({ node }: any) => ({ ...node, details: JSON.parse(node.details) }))
  }

  const tokenId = async (token: string) => (await server.query('{ viewer { tokenId } }', {}, token)).data.viewer.tokenId

  test('an entry says which token, which request and which address', async () => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${member}` },
      body: JSON.stringify({ query: CREATE, variables: { input: WORK } }),
    })
    const requestId = response.headers.get('x-request-id')
    const id = await tokenId(member)
    expect(await log({ requestId })).toMatchObject([
      { actor: 'MEMBER-token', tokenId: id, requestId, address: '127.0.0.1', action: 'session.create', projectId },
    ])
    const rest = await fetch(`${server.url}/v2/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${member}` },
      body: JSON.stringify(WORK),
    })
    expect(await log({ requestId: rest.headers.get('x-request-id') })).toMatchObject([
      { tokenId: id, address: '127.0.0.1', action: 'session.create' },
    ])
    const socket = connect(server.url, member)
    await socket.subscribe(CREATE, { input: { ...WORK, name: 'over a socket' } }).next()
    await socket.close()
    const entries = await log({ tokenId: id })
    expect(entries).toHaveLength(3)
    expect(entries[0]).toMatchObject({ address: '127.0.0.1', requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
  })

  test('refused changes are written down once a minute, with the number of those before', async () => {
    for (let n = 0; n < 5; n++) await server.query(CREATE, { input: WORK }, viewer)
    await fetch(`${server.url}/v2/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${viewer}` },
      body: JSON.stringify(WORK),
    })
    const filter = { tokenId: await tokenId(viewer), refused: true }
    await eventually(async () => (await log(filter)).length === 2)
    expect((await log(filter)).map(({ details }: any) => [details.operation, details.code]).toSorted()).toEqual([
      ['POST /v2/sessions', 'FORBIDDEN'],
      ['createSession', 'FORBIDDEN'],
    ])
    expect(await log({ ...filter, refused: false })).toEqual([])
  })

  test('after that minute, the next entry says how many of its kind had none', async () => {
    let now = 0
    const refusals = createRefusalLog({ db: server.db, log: pino({ enabled: false }), now: () => now })
    const clerk: Viewer = { name: 'clerk', role: 'VIEWER', tokenId: randomUUID(), userId: null, projectId }
    const refused = () => refusals.note(clerk, { operation: 'createWebhook', code: 'FORBIDDEN', message: 'no' })
    for (const at of [0, 1, 59_999, 60_000, 60_001]) {
      now = at
      refused()
    }
    const entries = () => log({ tokenId: clerk.tokenId })
    await eventually(async () => (await entries()).length === 2)
    expect((await entries()).map(({ details }: any) => details.before).toSorted()).toEqual([0, 2])
  })

  describe('it is read', () => {
    test('by administrators, and by those of a project as far as it concerns that', async () => {
      await server.query('mutation { createDomain(input: { name: "elsewhere" }) { __typename } }')
      expect((await log()).map(({ action }: any) => action)).toContain('domain.create')
      const own = await log({}, admin)
      expect(own.length).toBeGreaterThan(0)
      expect(new Set(own.map((entry: any) => entry.projectId))).toEqual(new Set([projectId]))
      expect(await log({ project: 'default' }, admin)).toEqual([])
      for (const token of [member, viewer]) {
        const { data, errors } = await server.query(LOG, {}, token)
        expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
        expect(data).toEqual({ auditLog: null })
      }
    })

    test('page by page, newest first, by time and action', async () => {
      const all = await log()
      const found: string[] = []
      for (let after: string | null = null; ;) {
        const { data } = await server.query(LOG, { first: 2, after })
        found.push(...data.auditLog.edges.map(({ node }: any) => node.entryId))
        expect(data.auditLog.totalCount).toBe(all.length)
        if (!data.auditLog.pageInfo.hasNextPage) break
        after = data.auditLog.pageInfo.endCursor
      }
      expect(found).toEqual(all.map(({ entryId }: any) => entryId))
      const back: string[][] = []
      for (let before: string | null = null; ;) {
        const { data } = await server.query(LOG, { last: 2, before })
        back.unshift(data.auditLog.edges.map(({ node }: any) => node.entryId))
        if (!data.auditLog.pageInfo.hasPreviousPage) break
        before = data.auditLog.pageInfo.startCursor
      }
      expect(back.length).toBeGreaterThan(2)
      expect(back.flat()).toEqual(found)
      const [newest] = all
      expect((await log({ at: { gte: newest.at } })).every(({ at }: any) => at >= newest.at)).toBe(true)
      expect(await log({ at: { gt: '2100-01-01T00:00:00Z' } })).toEqual([])
      expect(new Set((await log({ action: ['session.create'] })).map(({ action }: any) => action))).toEqual(
        new Set(['session.create']),
      )
      expect((await log({ actionContains: 'SION.CRE' })).length).toBeGreaterThan(0)
      expect(await log({ actionContains: 'SION.CRE' })).toEqual(await log({ action: ['session.create'] }))
      expect(new Set((await log({ actorContains: 'embER' })).map(({ actor }: any) => actor))).toEqual(
        new Set(['MEMBER-token']),
      )
      expect(await log({ actorContains: '%' })).toEqual([])
      for (const wrong of [{ after: 'bent' }, { before: 'bent' }]) {
        const { errors } = await server.query(LOG, wrong)
        expect(errors?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
      }
    })
  })

  test('the entries of the server itself can be left out', async () => {
    await server.db.query(`INSERT INTO audit_log (actor, action, details) VALUES ('scheduler', 'retry.decided', '{}')`)
    const actorsOf = async (automatic: boolean) =>
      new Set((await log({ automatic })).map(({ actor, tokenId: id }: any) => (id === null ? actor : 'a token')))
    expect(await actorsOf(true)).toContain('scheduler')
    expect(await actorsOf(true)).not.toContain('a token')
    expect(await actorsOf(false)).toEqual(new Set(['a token']))
  })

  test('a page of a large log is found by an index', async () => {
    await server.db.query(
      `INSERT INTO audit_log (actor, action, project_id, token_id, session_id)
    SELECT 'n', CASE WHEN n % 5000 = 0 THEN 'refused' ELSE 'x' END,
      CASE WHEN n % 2000 = 0 THEN $1::uuid END, CASE WHEN n % 2000 = 1 THEN $1::uuid END, CASE WHEN n % 2000 = 2 THEN $1::uuid END
    FROM generate_series(1, 100000) AS n`,
      [projectId],
    )
    await server.db.query('ANALYZE audit_log')
    const indexOf = async (conditions: Partial<AuditConditions>) => {
      const plans = [false, true].map(async (backward) => {
        const page = { olderThan: null, newerThan: null, backward, limit: 21 }
        const { text, values } = auditPageStatement({ visibleProjectId: null, ...conditions }, page)
        return (await planOf(server.db, { text, values })).map((node) => node['Index Name'])
      })
      const [forward, back] = await Promise.all(plans)
      expect(back).toEqual(forward)
      return forward
    }
    expect(await indexOf({})).toContain('audit_log_pkey')
    expect(await indexOf({ visibleProjectId: projectId })).toContain('audit_log_project')
    expect(await indexOf({ tokenId: projectId })).toContain('audit_log_token')
    expect(await indexOf({ sessionId: projectId })).toContain('audit_log_session')
    expect(await indexOf({ refused: true })).toContain('audit_log_refused')
    expect(await indexOf({ automatic: false })).toContain('audit_log_by_people')
  })
})
