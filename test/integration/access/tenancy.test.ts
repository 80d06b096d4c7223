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
