/** Reading, setting and clearing retry defaults. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const SET = `mutation ($input: SetRetryDefaultsInput!) { setRetryDefaults(input: $input) { __typename
  ... on SetRetryDefaultsPayload { retryDefaults { scope name policy { given maxRetries maxRetryDelay retryDelay rules { action } } } }
  ... on ValidationError { issues { path } } ... on Error { code } } }`

async function set(input: object, token?: string) {
  const { data, errors } = await server.query(SET, { input }, token)
  expect(errors).toBeUndefined()
  return data.setRetryDefaults
}

test('defaults are set, read and cleared', async () => {
  const policy = { maxRetries: 0, maxRetryDelay: null, rules: [{ match: {}, action: 'FAIL' }] }
  const shown = {
    scope: 'PROJECT',
    name: 'default',
    policy: {
      given: ['maxRetries', 'maxRetryDelay', 'rules'],
      maxRetries: 0,
      maxRetryDelay: null,
      retryDelay: null,
      rules: [{ action: 'FAIL' }],
    },
  }
  expect(await set({ scope: 'PROJECT', name: 'default', policy })).toEqual({
    __typename: 'SetRetryDefaultsPayload',
    retryDefaults: shown,
  })
  const read = '{ retryDefaults { scope name policy { given maxRetries } } }'
  expect((await server.query(read)).data.retryDefaults).toMatchObject([{ scope: 'PROJECT', name: 'default' }])
  expect(await set({ scope: 'PROJECT', name: 'default', policy: null })).toMatchObject({
    retryDefaults: { policy: null },
  })
  expect((await server.query(read)).data.retryDefaults).toEqual([])
})

test('faults are members of the result', async () => {
  expect(await set({ scope: 'DOMAIN', policy: { maxRetries: 101 } })).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: 'name' }, { path: 'policy.maxRetries' }],
  })
  expect(await set({ scope: 'DOMAIN', name: 'nope' })).toMatchObject({ __typename: 'NotFoundError' })
  const member = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
  expect(await set({ scope: 'PROJECT', name: 'default' }, member)).toMatchObject({
    __typename: 'ForbiddenError',
    code: 'FORBIDDEN',
  })
})
