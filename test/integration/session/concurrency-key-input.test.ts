/** A concurrency key as clients give it and find it again. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startGraphQLServer, type TestServer as ApiServer } from '../../support/servers/graphql-server.ts'

let api: ApiServer
beforeAll(async () => {
  api = await startGraphQLServer()
})
afterAll(() => api?.close())
beforeEach(async () => {
  await api.database.fresh()
  api.adminToken = await api.factory.token({ role: 'ADMIN' })
})

const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { created session { sessionId concurrencyKey concurrencyLimit } }
  ... on ValidationError { issues { path message } } ... on Error { code } } }`

async function create(input: object) {
  const { data, errors } = await api.query(
    CREATE,
    { input: { name: 'work', command: ['true'], ...input } },
    api.adminToken,
  )
  expect(errors).toBeUndefined()
  return data.createSession
}

async function rest(method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${api.adminToken}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return response.json()
}

it('has a limit of one unless another is given, and none without a key', async () => {
  expect((await create({ concurrencyKey: 'k' })).session).toMatchObject({ concurrencyKey: 'k', concurrencyLimit: 1 })
  expect((await create({ concurrencyKey: 'k', concurrencyLimit: 3 })).session).toMatchObject({ concurrencyLimit: 3 })
  expect((await create({})).session).toMatchObject({ concurrencyKey: null, concurrencyLimit: null })
})

it('is the same request with the limit that it has anyway', async () => {
  const first = await create({ creationId: 'once', concurrencyKey: 'k' })
  const again = await create({ creationId: 'once', concurrencyKey: 'k', concurrencyLimit: 1 })
  expect(again).toMatchObject({ created: false, session: { sessionId: first.session.sessionId } })
  expect(await create({ creationId: 'once', concurrencyKey: 'k', concurrencyLimit: 2 })).toMatchObject({
    code: 'CREATION_ID_REUSED',
  })
})

it('is refused with the field where it is wrong', async () => {
  const paths = async (input: object) => (await create(input)).issues.map(({ path }: { path: string }) => path)
  expect(await paths({ concurrencyLimit: 2 })).toEqual(['concurrencyLimit'])
  expect(await paths({ concurrencyKey: 'k', concurrencyLimit: 0 })).toEqual(['concurrencyLimit'])
  expect(await paths({ concurrencyKey: 'k', concurrencyLimit: 1_001 })).toEqual(['concurrencyLimit'])
  expect(await paths({ concurrencyKey: '' })).toEqual(['concurrencyKey'])
  expect(await paths({ concurrencyKey: 'k'.repeat(257) })).toEqual(['concurrencyKey'])
  expect(await paths({ concurrencyKey: 'a\0b' })).toEqual(['concurrencyKey'])
})

it('is the same over REST, and finds its sessions', async () => {
  const made = await rest('POST', '/v2/sessions', { name: 'a', command: ['true'], concurrency_key: 'k' })
  expect(made).toMatchObject({ concurrency_key: 'k', concurrency_limit: 1 })
  await rest('POST', '/v2/sessions', { name: 'b', command: ['true'], concurrency_key: 'other', concurrency_limit: 2 })
  const found = await rest('GET', '/v2/sessions?concurrency_key=k')
  expect(found.items.map(({ id }: { id: string }) => id)).toEqual([made.id])
  const { data } = await api.query(
    '{ sessions(filter: { concurrencyKey: "other" }) { edges { node { name concurrencyLimit } } } }',
    {},
    api.adminToken,
  )
  expect(data.sessions.edges).toEqual([{ node: { name: 'b', concurrencyLimit: 2 } }])
})
