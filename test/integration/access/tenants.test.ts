/** Making domains, projects, users and members, and what they see. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

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
  const { rows } = await server.db.query(`SELECT action FROM audit_log WHERE action ~ 'create' ORDER BY id`)
  expect(rows.map(({ action }) => action)).toEqual(['domain.create', 'project.create', 'project.create', 'user.create'])
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
  expect(await mutate('createDomain', { name: 'a b' }, 'domain { name }')).toMatchObject({ issues: [{ path: 'name' }] })
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
