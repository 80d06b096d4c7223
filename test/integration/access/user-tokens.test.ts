/** Tokens of users: their role, their quota, and changes of membership. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
  await mutate('createUser', { name: 'eva' })
  await mutate('createProject', { name: 'optics' })
})
afterAll(() => server?.close())

async function mutate(name: string, input: object, fields = '__typename', token?: string) {
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

const join = (role: string) => mutate('setProjectMember', { project: 'optics', user: 'eva', role })
const make = (input: object) =>
  mutate('createToken', { name: 't', project: 'optics', user: 'eva', ...input }, 'secret token { role user { name } }')
const work = { name: 'w', command: ['true'], project: 'optics' }
const create = (token: string) => mutate('createSession', work, 'session { sessionId }', token)

/** A token is looked up again after 3 s. */
const SOON = { timeout: 120_000, interval: 300 }

test('a token of a user creates that user’s sessions, and those count under its quota', async () => {
  expect(await make({ role: 'MEMBER' })).toMatchObject({ code: 'USER_NOT_FOUND' })
  await join('MEMBER')
  const { secret, token } = await make({ role: 'MEMBER' })
  expect(token).toEqual({ role: 'MEMBER', user: { name: 'eva' } })
  const { session } = await create(secret)
  const { rows } = await server.db.query(
    'SELECT u.name FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1',
    [session.sessionId],
  )
  expect(rows).toEqual([{ name: 'eva' }])
  await mutate('setQuota', { scope: 'USER', name: 'eva', maxPending: 1 })
  expect(await create(secret)).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  await mutate('setQuota', { scope: 'USER', name: 'eva', maxPending: null })
})

test('nobody is given more than the member may', async () => {
  await join('VIEWER')
  expect(await make({ role: 'MEMBER' })).toMatchObject({ issues: [{ path: 'role' }] })
  expect(await make({ role: 'VIEWER' })).toMatchObject({ __typename: 'CreateTokenPayload' })
  expect(await make({ role: 'VIEWER', user: 'nobody' })).toMatchObject({ code: 'USER_NOT_FOUND' })
  expect(await make({ role: 'AGENT', project: null })).toMatchObject({ issues: [{ path: 'user' }] })
})

test('a member’s role that changes or ends does so for its tokens within seconds, open subscriptions included', async () => {
  await join('MEMBER')
  const { secret } = await make({ role: 'MEMBER' })
  expect(await create(secret)).toMatchObject({ __typename: 'CreateSessionPayload' })
  await join('VIEWER')
  await expect.poll(() => create(secret), SOON).toMatchObject({ code: 'FORBIDDEN' })
  // What the token has is a bound: its user's new power is not its own.
  await join('ADMIN')
  await expect.poll(() => create(secret), SOON).toMatchObject({ __typename: 'CreateSessionPayload' })
  expect(await mutate('createToken', { name: 'x', role: 'VIEWER', project: 'optics' }, 'secret', secret)).toMatchObject(
    { code: 'FORBIDDEN' },
  )

  const connection = connect(server.url, secret)
  const events = connection.subscribe('subscription { sessionEvents { cursor } }')
  const ended = events.next().catch(() => 'ended')
  await expect.poll(() => server.bus.subscribers, SOON).toBe(1)
  await mutate('removeProjectMember', { project: 'optics', user: 'eva' })
  expect((await connection.closed).code).toBe(4401)
  await ended
  const { status } = await server.query('{ sessions { totalCount } }', {}, secret)
  expect(status).toBe(401)
})
