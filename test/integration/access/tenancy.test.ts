/** Reads and writes with tokens of another project, of each role, and without any. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import type { SessionRow } from '../../support/sessions/factories.ts'

let server: TestServer
let mine: SessionRow
let theirs: SessionRow
let member: string
let viewer: string

beforeAll(async () => {
  server = await startGraphQLServer()
  const { factory } = server
  const ours = await factory.project('ours')
  const foreign = await factory.project('foreign')
  mine = await factory.session({ projectId: ours, status: 'ERROR', retryPolicy: { maxRetries: 1 }, name: 'mine' })
  theirs = await factory.session({
    projectId: foreign,
    status: 'ERROR',
    retryPolicy: { maxRetries: 1 },
    name: 'theirs',
  })
  member = await factory.token({ role: 'MEMBER', projectId: ours })
  viewer = await factory.token({ role: 'VIEWER', projectId: ours })
})
afterAll(() => server?.close())

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64')

describe('things of another project are not found', () => {
  const read = async (text: string, variables: object = {}) => {
    const answer = await server.query(text, variables, member)
    expect(answer.errors).toBeUndefined()
    return answer.data
  }

  test('as a session', async () => {
    const text = 'query ($id: UUID!) { session(id: $id) { name } }'
    expect(await read(text, { id: theirs.id })).toEqual({ session: null })
    expect(await read(text, { id: mine.id })).toEqual({ session: { name: 'mine' } })
  })

  test('as a node', async () => {
    const text = 'query ($id: ID!) { node(id: $id) { __typename id } }'
    const own: [string, string][] = [
      ['Session', mine.id],
      ['Kernel', mine.kernelIds[0]!],
      ['Project', mine.projectId],
    ]
    const foreign: [string, string][] = [
      ['Session', theirs.id],
      ['Kernel', theirs.kernelIds[0]!],
      ['Project', theirs.projectId],
    ]
    for (const [type, id] of own) expect((await read(text, { id: globalId(type, id) })).node?.__typename).toBe(type)
    for (const [type, id] of foreign) expect(await read(text, { id: globalId(type, id) })).toEqual({ node: null })
    for (const type of ['Session', 'Kernel', 'Project', 'Agent']) {
      expect(await read(text, { id: globalId(type, 'nonsense') })).toEqual({ node: null })
    }
  })

  test('in lists', async () => {
    const data = await read(`{
      sessions { totalCount edges { node { name } } }
      everywhere: sessions(filter: { OR: [{}, { project: "foreign" }] }) { totalCount }
      retryDecisions { totalCount edges { node { session { name } } } }
      projects { totalCount edges { node { name } } } }`)
    expect(data).toEqual({
      sessions: { totalCount: 1, edges: [{ node: { name: 'mine' } }] },
      everywhere: { totalCount: 1 },
      retryDecisions: { totalCount: 1, edges: [{ node: { session: { name: 'mine' } } }] },
      projects: { totalCount: 1, edges: [{ node: { name: 'ours' } }] },
    })
  })

  test('along an edge, even where the rows are wrong', async () => {
    const id = randomUUID()
    await server.db.query(
      `INSERT INTO sessions SELECT (json_populate_record(s, json_build_object('id', $1::text, 'parent_session_id', s.id,
         'attempt', 2, 'origin', 'AUTO_RETRY', 'creation_id', 'stray', 'project_id', $3::text, 'name', 'stray'))).*
       FROM sessions s WHERE id = $2`,
      [id, mine.id, theirs.projectId],
    )
    const text = 'query ($id: UUID!) { session(id: $id) { childSession { name } retryChain { name } } }'
    expect(await read(text, { id: mine.id })).toEqual({
      session: { childSession: null, retryChain: [{ name: 'mine' }] },
    })
    const all = await server.query(text, { id: mine.id })
    expect(all.data.session.childSession).toEqual({ name: 'stray' })
    await server.db.query('DELETE FROM sessions WHERE id = $1', [id])
  })

  test('in a preview', async () => {
    const text = 'query ($id: UUID!) { retryPolicyPreview(policy: {}, sessionId: $id) { eligible } }'
    const { errors } = await server.query(text, { id: theirs.id }, member)
    expect(errors?.[0]?.extensions['code']).toBe('SESSION_NOT_FOUND')
    const names = 'trial { matched decisions { name } }'
    const tried = `query ($ids: [UUID!]) { retryPolicyPreview(policy: {}, sessionIds: $ids) { ${names} } }`
    const { errors: refused } = await server.query(tried, { ids: [mine.id, theirs.id] }, member)
    expect(refused?.[0]?.extensions['code']).toBe('SESSION_NOT_FOUND')
    const all = await read(
      `{ retryPolicyPreview(policy: {}, window: { to: "2100-01-01T00:00:00Z", from: "2020-01-01T00:00:00Z" }) { ${names} } }`,
    )
    expect(all).toEqual({ retryPolicyPreview: { trial: { matched: 1, decisions: [{ name: 'mine' }] } } })
  })

  test.each(['terminateSession', 'cancelRetry', 'retryNow'])('for %s', async (mutation) => {
    const text = `mutation ($id: UUID!) { ${mutation}(input: { sessionId: $id }) { __typename ... on Error { code } } }`
    const { data } = await server.query(text, { id: theirs.id }, member)
    expect(data[mutation]).toEqual({ __typename: 'NotFoundError', code: 'SESSION_NOT_FOUND' })
  })

  test('for createSession', async () => {
    const text = `mutation { createSession(input: { name: "x", command: ["true"], project: "foreign" }) { __typename ... on Error { code } } }`
    const { data } = await server.query(text, {}, member)
    expect(data.createSession).toEqual({ __typename: 'NotFoundError', code: 'PROJECT_NOT_FOUND' })
  })
})

describe('roles', () => {
  test.each([
    ['createSession', '{ name: "x", command: ["true"], project: "ours" }'],
    ['createSessions', '{ sessions: [{ name: "x", command: ["true"], project: "ours" }] }'],
    ['terminateSession', '{ sessionId: "ID" }'],
    ['cancelRetry', '{ sessionId: "ID" }'],
    ['retryNow', '{ sessionId: "ID" }'],
    ['updateRetry', '{ sessionId: "ID", policy: { maxRetries: 1 } }'],
  ])('a VIEWER may not %s', async (mutation, input) => {
    const text = `mutation { ${mutation}(input: ${input.replace('ID', mine.id)}) { __typename ... on Error { code } } }`
    const { data } = await server.query(text, {}, viewer)
    expect(data[mutation]).toEqual({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
  })

  test('a VIEWER may read', async () => {
    expect((await server.query('{ sessions { totalCount } }', {}, viewer)).data.sessions.totalCount).toBe(1)
  })

  test("an agent's token opens nothing", async () => {
    const token = await server.factory.token({ role: 'AGENT' })
    const answer = await server.query('{ sessions { totalCount } }', {}, token)
    expect(answer).toMatchObject({ status: 403, errors: [{ extensions: { code: 'FORBIDDEN' } }] })
  })

  test('a member without a project sees nothing, rather than all', async () => {
    const token = await server.factory.token({ role: 'MEMBER' })
    expect(await server.query('{ sessions { totalCount } }', {}, token)).toMatchObject({ status: 401 })
  })
})

describe('strangers', () => {
  test.each([
    ['no token', null],
    ['nonsense', 'nonsense'],
    ['an unknown token', `rpr_${'A'.repeat(43)}`],
  ])('with %s are refused', async (_name, token) => {
    const answer = await server.query('{ sessions { totalCount } }', {}, token)
    expect(answer).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    expect(answer.data).toBeUndefined()
  })

  test('learn nothing from validation', async () => {
    const answer = await server.query('{ sesions { totalCount } }', {}, null)
    expect(answer.status).toBe(401)
    expect(JSON.stringify(answer)).not.toContain('Did you mean')
  })

  test('may introspect, but nothing beside', async () => {
    expect((await server.query('{ __schema { queryType { name } } }', {}, null)).data.__schema.queryType.name).toBe(
      'Query',
    )
    expect((await server.query('{ __typename sessions { totalCount } }', {}, null)).status).toBe(401)
    const spread = 'query { ...Q } fragment Q on Query { sessions { totalCount } }'
    expect((await server.query(spread, {}, null)).status).toBe(401)
  })

  test('may not introspect where that is not allowed', async () => {
    const closed = await startGraphQLServer({ introspectionForStrangers: false })
    try {
      expect((await closed.query('{ __schema { queryType { name } } }', {}, null)).status).toBe(401)
      expect((await closed.query('{ __schema { queryType { name } } }')).status).toBe(200)
    } finally {
      await closed.close()
    }
  })

  test('cannot use revoked and expired tokens', async () => {
    for (const column of ['revoked_at', 'expires_at']) {
      const token = await server.factory.token({ role: 'ADMIN' })
      const prefix = token.slice(0, 10)
      await server.db.query(`UPDATE api_tokens SET ${column} = now() WHERE prefix = $1`, [prefix])
      expect((await server.query('{ sessions { totalCount } }', {}, token)).status).toBe(401)
    }
  })
})

test('a form of another origin is refused', async () => {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'query={__typename}',
  })
  expect(response.status).toBe(401)
})

describe('members of a project', () => {
  let ada: string
  let bob: string
  let nobody: string
  let admin: string
  let projectId: string

  async function mutate(name: string, input: object, fields: string, token: string) {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const dryRun = name.endsWith('s') ? '... on DryRun { count refusals { code count } }' : ''
    const text = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${fields} }
      ${dryRun} ... on Error { code message } } }`
    const { data, errors } = await server.query(text, { input }, token)
    expect(errors).toBeUndefined()
    return data[name]
  }
  const FORBIDDEN = { code: 'FORBIDDEN', message: expect.stringContaining('is the work of ada') }
  const create = async (token: string) =>
    (await mutate('createSession', { name: 'w', command: ['true'] }, 'session { sessionId }', token)).session
      .sessionId as string
  const terminate = (sessionId: string, token: string) =>
    mutate('terminateSession', { sessionId }, 'session { status }', token)
  /** A failed session of Ada that waits for its retry. */
  const waiting = async () => {
    const { id } = await server.factory.session({ projectId, status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    await server.db.query(`UPDATE sessions SET user_id = (SELECT id FROM users WHERE name = 'ada') WHERE id = $1`, [id])
    return id
  }

  /** Makes a token of a user, in the project unless another one is given. */
  const make = (input: object) =>
    mutate('createToken', { name: 't', project: 'shared', ...input }, 'secret', server.adminToken)
  /** A token is looked up again after 3 s. */
  const SOON = { timeout: 120_000, interval: 300 }

  beforeAll(async () => {
    projectId = await server.factory.project('shared')
    const made: string[] = []
    for (const user of ['ada', 'bob']) {
      await mutate('createUser', { name: user }, 'user { name }', server.adminToken)
      const membership = { project: 'shared', user, role: 'MEMBER' }
      await mutate('setProjectMember', membership, 'project { name }', server.adminToken)
      const input = { name: user, role: 'MEMBER', project: 'shared', user }
      made.push((await mutate('createToken', input, 'secret', server.adminToken)).secret)
    }
    ;[ada, bob] = made as [string, string]
    nobody = await server.factory.token({ role: 'MEMBER', projectId })
    admin = await server.factory.token({ role: 'ADMIN', projectId })
  })

  test('end only their own work', async () => {
    const [hers, his, ownerless] = [await create(ada), await create(bob), await create(nobody)]
    expect(await terminate(hers, bob)).toMatchObject(FORBIDDEN)
    expect(await terminate(hers, nobody)).toMatchObject(FORBIDDEN)
    expect(await terminate(ownerless, bob)).toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('has no user'),
    })
    const text = 'query ($id: UUID!) { session(id: $id) { actions { action reason } } }'
    const reasons = async (token: string) => {
      const { data } = await server.query(text, { id: hers }, token)
      return data.session.actions.find(({ action }: { action: string }) => action === 'TERMINATE').reason
    }
    expect([await reasons(ada), await reasons(bob)]).toEqual([null, FORBIDDEN.message])
    for (const [id, token] of [
      [hers, ada],
      [his, admin],
      [ownerless, nobody],
    ] as const) {
      expect(await terminate(id, token)).toMatchObject({ session: { status: 'CANCELLED' } })
    }
  })

  test('end neither the retries nor the deployments of others', async () => {
    const sessionId = await waiting()
    expect(await mutate('cancelRetry', { sessionId }, '__typename', bob)).toMatchObject(FORBIDDEN)
    expect(await terminate(sessionId, bob)).toMatchObject(FORBIDDEN)
    const update = (maxRetries: number) =>
      mutate('updateRetry', { sessionId, policy: { maxRetries } }, 'session { retryState { phase } }', bob)
    expect(await update(0)).toMatchObject(FORBIDDEN)
    expect(await update(3)).toMatchObject({ session: { retryState: { phase: 'SCHEDULED' } } })
    expect(await mutate('cancelRetry', { sessionId }, '__typename', ada)).toMatchObject({
      __typename: 'CancelRetryPayload',
    })

    const input = { name: 'hers', command: ['true'] }
    const { deployment } = await mutate('createDeployment', input, 'deployment { deploymentId }', ada)
    expect(await mutate('destroyDeployment', deployment, '__typename', bob)).toMatchObject(FORBIDDEN)
    expect(await mutate('destroyDeployment', deployment, '__typename', ada)).toMatchObject({
      __typename: 'DestroyDeploymentPayload',
    })
  })

  test('end of many sessions only their own, and a dry run says so', async () => {
    const [hers, his] = [await create(ada), await create(bob)]
    const sessionIds = [hers, his, hers]
    const fields = 'resubmission { state done refusedCount } refused { sessionId code } sessions { sessionId }'
    expect(await mutate('terminateSessions', { sessionIds, dryRun: true }, fields, bob)).toMatchObject({
      count: 1,
      refusals: [{ code: 'FORBIDDEN', count: 1 }],
    })
    const done = await mutate('terminateSessions', { sessionIds }, fields, bob)
    expect(done).toMatchObject({
      resubmission: { state: 'COMPLETED', done: 1, refusedCount: 2 },
      sessions: [{ sessionId: his }],
    })
    expect(done.refused).toContainEqual({ sessionId: hers, code: 'FORBIDDEN' })
    const only = await mutate('terminateSessions', { sessionIds: [hers] }, fields, bob)
    expect(only).toMatchObject({ resubmission: { state: 'COMPLETED', done: 0, refusedCount: 1 } })

    const retries = { sessionIds: [await waiting()] }
    expect(await mutate('cancelRetries', retries, fields, bob)).toMatchObject({
      resubmission: { done: 0, refusedCount: 1 },
    })
    expect(await mutate('cancelRetries', retries, fields, ada)).toMatchObject({
      resubmission: { done: 1, refusedCount: 0 },
    })
    expect(await terminate(hers, ada)).toMatchObject({ session: { status: 'CANCELLED' } })
  })

  test('end the work of others where an administrator of the project allows it', async () => {
    const hers = await create(ada)
    const allow = (token: string, membersEndAll = true) =>
      mutate('updateProject', { name: 'shared', membersEndAll }, 'project { membersEndAll }', token)
    expect(await allow(bob)).toMatchObject({ code: 'FORBIDDEN' })
    const stranger = await server.factory.token({ role: 'ADMIN', projectId: await server.factory.project() })
    expect(await allow(stranger)).toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    expect(await allow(admin)).toMatchObject({ project: { membersEndAll: true } })
    expect(await terminate(hers, bob)).toMatchObject({ session: { status: 'CANCELLED' } })
    await allow(admin, false)
  })

  test('the tokens of a deleted user are not valid, and one who comes back has none and no membership', async () => {
    await mutate('createUser', { name: 'otto' }, '__typename', server.adminToken)
    await mutate(
      'setProjectMember',
      { project: 'shared', user: 'otto', role: 'ADMIN' },
      '__typename',
      server.adminToken,
    )
    const limited = await make({ user: 'otto', role: 'MEMBER' })
    const unlimited = await make({ user: 'otto', role: 'ADMIN', project: null })
    const sessionId = await create(limited.secret)
    expect(await mutate('deleteUser', { name: 'otto' }, '__typename', unlimited.secret)).toMatchObject({
      code: 'VALIDATION_FAILED',
    })
    expect(await mutate('deleteUser', { name: 'otto' }, '__typename', limited.secret)).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await mutate('deleteUser', { name: 'otto' }, 'userId deletedId', server.adminToken)).toMatchObject({
      userId: expect.any(String),
    })
    for (const { secret } of [limited, unlimited]) {
      await expect
        .poll(async () => (await server.query('{ sessions { totalCount } }', {}, secret)).status, SOON)
        .toBe(401)
    }
    expect(await mutate('deleteUser', { name: 'otto' }, '__typename', server.adminToken)).toMatchObject({
      code: 'USER_NOT_FOUND',
    })
    expect(await make({ user: 'otto', role: 'MEMBER' })).toMatchObject({ code: 'USER_NOT_FOUND' })
    const membership = { project: 'shared', user: 'otto', role: 'MEMBER' }
    expect(await mutate('setProjectMember', membership, '__typename', server.adminToken)).toMatchObject({
      code: 'USER_NOT_FOUND',
    })
    const users = async () =>
      (
        await server.query('{ users(first: 100) { edges { node { name memberships { role } } } } }')
      ).data.users.edges.map(({ node }: { node: { name: string } }) => node)
    expect((await users()).map(({ name }: { name: string }) => name)).not.toContain('otto')
    const kept = await server.query('query ($id: UUID!) { session(id: $id) { status user } }', {
      id: sessionId,
    })
    expect(kept.data.session).toEqual({ status: 'PENDING', user: 'otto' })

    await mutate('createUser', { name: 'otto' }, '__typename', server.adminToken)
    expect(await users()).toContainEqual({ name: 'otto', memberships: [] })
    expect((await server.query('{ sessions { totalCount } }', {}, limited.secret)).status).toBe(401)
  })

  test('a token that is made for a user while the user is deleted is not valid', async () => {
    await mutate('createUser', { name: 'ghost' }, '__typename', server.adminToken)
    const { secret } = await make({ user: 'ghost', role: 'ADMIN', project: null })
    await mutate('deleteUser', { name: 'ghost' }, '__typename', server.adminToken)
    // As if it had been written just after.
    await server.db.query(`UPDATE api_tokens SET revoked_at = NULL WHERE prefix = $1`, [secret.slice(0, 10)])
    expect((await server.query('{ sessions { totalCount } }', {}, secret)).status).toBe(401)
  })
})
