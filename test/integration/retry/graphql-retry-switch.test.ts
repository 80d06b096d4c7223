/** Reading and setting retry switches. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const CHANGE = '{ at by reason }'
const SHOWN = `scope name disabled disabledUntil disabledChange ${CHANGE}
  rateLimit { perSecond burst } rateLimitUntil rateLimitChange ${CHANGE}`
const SET = `mutation ($input: SetRetrySwitchInput!) { setRetrySwitch(input: $input) { __typename
  ... on SetRetrySwitchPayload { retrySwitch { ${SHOWN} } }
  ... on ValidationError { issues { path } } ... on Error { code } } }`

async function set(input: object, token?: string) {
  const { data, errors } = await server.query(SET, { input }, token)
  expect(errors).toBeUndefined()
  return data.setRetrySwitch
}

test('switches are set one by one, for a time, and read', async () => {
  const rateLimit = { perSecond: 2.5, burst: 3 }
  await set({ scope: 'CLUSTER', rateLimit, reason: 'too many at once' })
  const change = { at: expect.stringMatching(/^20\d\d-/), by: 'ADMIN-token' }
  const expected = {
    scope: 'CLUSTER',
    name: null,
    disabled: true,
    disabledUntil: '2040-01-01T00:00:00.000Z',
    disabledChange: { ...change, reason: null },
    rateLimit,
    rateLimitUntil: null,
    rateLimitChange: { ...change, reason: 'too many at once' },
  }
  expect(await set({ scope: 'CLUSTER', disabled: true, until: '2040-01-01T00:00:00Z' })).toEqual({
    __typename: 'SetRetrySwitchPayload',
    retrySwitch: expected,
  })
  const read = `{ retrySwitches { ${SHOWN} } }`
  const viewer = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
  expect((await server.query(read, {}, viewer)).data.retrySwitches).toEqual([expected])
  await set({ scope: 'CLUSTER', disabled: false, rateLimit: null })
  expect((await server.query(read)).data.retrySwitches).toEqual([])
})

test('a viewer of one project does not read the switches of another', async () => {
  await server.factory.project('somebody-elses')
  await set({ scope: 'PROJECT', name: 'somebody-elses', disabled: true })
  const member = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
  expect((await server.query('{ retrySwitches { name } }', {}, member)).data.retrySwitches).toEqual([])
  expect(await set({ scope: 'PROJECT', name: 'default', disabled: true }, member)).toMatchObject({
    __typename: 'ForbiddenError',
  })
})

test('faults are members of the result', async () => {
  const rateLimit = { perSecond: -1, burst: 0 }
  expect(await set({ scope: 'PROJECT', rateLimit, reason: 'x'.repeat(1001) })).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: 'name' }, { path: 'rateLimit.perSecond' }, { path: 'rateLimit.burst' }, { path: 'reason' }],
  })
  expect(await set({ scope: 'DOMAIN', name: 'nope', disabled: true })).toMatchObject({ __typename: 'NotFoundError' })
})
