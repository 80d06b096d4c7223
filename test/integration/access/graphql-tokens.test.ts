/** Tokens: creation, listing, revocation, expiry, and who may do it. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())
beforeEach(() => server.db.query('DELETE FROM audit_log'))

const SHOWN = 'tokenId name prefix role project { name } expiresAt revokedAt lastUsedAt'
const CREATE = `mutation ($input: CreateTokenInput!) { createToken(input: $input) { __typename
  ... on CreateTokenPayload { secret token { ${SHOWN} } }
  ... on ValidationError { issues { path } } ... on Error { code } } }`
const REVOKE = `mutation ($input: RevokeTokenInput!) { revokeToken(input: $input) { __typename
  ... on RevokeTokenPayload { token { ${SHOWN} } } ... on Error { code message } } }`
const LIST = `query ($after: String) { tokens(first: 2, after: $after) { totalCount pageInfo { hasNextPage endCursor }
  edges { node { ${SHOWN} } } } }`

async function ask(mutation: string, input: object, token?: string) {
  const { data, errors } = await server.query(mutation, { input }, token)
  expect(errors).toBeUndefined()
  return data.createToken ?? data.revokeToken
}

const create = (input: object, token?: string) => ask(CREATE, { name: 'ci', ...input }, token)

async function list(token?: string) {
  const found = []
  for (let after: string | null = null; ;) {
    const { data } = await server.query(LIST, { after }, token)
    found.push(...data.tokens.edges.map(({ node }: { node: object }) => node))
    if (!data.tokens.pageInfo.hasNextPage) {
      expect(found).toHaveLength(data.tokens.totalCount)
      return found
    }
    after = data.tokens.pageInfo.endCursor
  }
}

test('a token is shown once, works, is listed without itself, and works no longer once revoked', async () => {
  const expiresAt = '2040-01-01T00:00:00.000Z'
  const { secret, token } = await create({ role: 'VIEWER', project: 'default', expiresAt })
  expect(token).toEqual({
    tokenId: expect.any(String),
    name: 'ci',
    prefix: secret.slice(0, 10),
    role: 'VIEWER',
    project: { name: 'default' },
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
  })
  const { rows } = await server.db.query<{ text: string }>('SELECT t::text AS text FROM api_tokens t')
  expect(rows.map(({ text }) => text).join()).not.toContain(secret.slice(10))

  expect((await list()).map(({ tokenId }) => tokenId)).toContain(token.tokenId)
  const { tokenId } = token
  const revoked = await ask(REVOKE, { tokenId })
  expect(revoked.token).toMatchObject({ tokenId, revokedAt: expect.any(String) })
  expect(await ask(REVOKE, { tokenId })).toEqual(revoked)
  expect((await server.query('{ projects { totalCount } }', {}, secret)).errors).toMatchObject([
    { extensions: { code: 'UNAUTHENTICATED' } },
  ])

  const audit = await server.db.query('SELECT action, details FROM audit_log ORDER BY id')
  expect(audit.rows).toMatchObject([
    { action: 'token.create', details: { tokenId, role: 'VIEWER', project: 'default' } },
    { action: 'token.revoke', details: { tokenId, name: 'ci' } },
    { action: 'token.revoke' },
  ])
  expect(JSON.stringify(audit.rows)).not.toContain(secret.slice(10))
})

test('a token works for as long as it was made for', async () => {
  const { secret } = await create({ role: 'MEMBER', project: 'default', expiresAt: new Date(Date.now() + 60_000) })
  await server.db.query(`UPDATE api_tokens SET expires_at = now() - interval '1 second' WHERE prefix = $1`, [
    secret.slice(0, 10),
  ])
  expect((await server.query('{ projects { totalCount } }', {}, secret)).errors).toHaveLength(1)
})

test.each([
  [{ role: 'AGENT', project: 'default' }, ['project']],
  [{ role: 'MEMBER' }, ['project']],
  [{ role: 'VIEWER' }, ['project']],
  [{ role: 'AGENT', name: ' ' }, ['name']],
  [{ role: 'AGENT', name: 'x'.repeat(257) }, ['name']],
  [{ role: 'AGENT', name: 'a\0b' }, ['name']],
  [{ role: 'AGENT', expiresAt: '2020-01-01T00:00:00Z' }, ['expiresAt']],
])('what cannot be is refused: %o', async (input, paths) => {
  expect(await create(input)).toMatchObject({
    __typename: 'ValidationError',
    issues: paths.map((path) => ({ path })),
  })
})

describe('who may', () => {
  test('an administrator of one project makes, sees and revokes that one’s alone', async () => {
    await server.factory.project('elsewhere')
    const admin = await server.factory.token({ role: 'ADMIN', projectId: DEFAULT_PROJECT_ID })
    const own = await create({ role: 'ADMIN', project: 'default' }, admin)
    const foreign = await create({ role: 'VIEWER', project: 'elsewhere' })
    expect(await create({ role: 'VIEWER', project: 'elsewhere' }, admin)).toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    expect(await create({ role: 'AGENT' }, admin)).toMatchObject({ code: 'FORBIDDEN' })
    expect(await create({ role: 'ADMIN' }, admin)).toMatchObject({ code: 'FORBIDDEN' })
    const seen = (await list(admin)).map(({ tokenId }) => tokenId)
    expect(seen).toContain(own.token.tokenId)
    expect(seen).not.toContain(foreign.token.tokenId)
    const { tokenId } = foreign.token
    expect(await ask(REVOKE, { tokenId }, admin)).toMatchObject({ code: 'TOKEN_NOT_FOUND' })
    expect(await ask(REVOKE, { tokenId: own.token.tokenId }, admin)).toMatchObject({ __typename: 'RevokeTokenPayload' })
  })

  test.each(['MEMBER', 'VIEWER'] as const)('a %s does nothing of it', async (role) => {
    const token = await server.factory.token({ role, projectId: DEFAULT_PROJECT_ID })
    expect(await create({ role: 'VIEWER', project: 'default' }, token)).toMatchObject({ code: 'FORBIDDEN' })
    expect(await ask(REVOKE, { tokenId: randomUUID() }, token)).toMatchObject({ code: 'FORBIDDEN' })
    const { data, errors } = await server.query('{ tokens { totalCount } viewer { role } }', {}, token)
    expect(errors).toMatchObject([{ path: ['tokens'], extensions: { code: 'FORBIDDEN' } }])
    expect(data).toEqual({ tokens: null, viewer: { role } })
  })

  test('nobody revokes the token that asks: an administrator is left', async () => {
    const { rows } = await server.db.query<{ id: string }>('SELECT id FROM api_tokens WHERE prefix = $1', [
      server.adminToken.slice(0, 10),
    ])
    expect(await ask(REVOKE, { tokenId: rows[0]!.id })).toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(await ask(REVOKE, { tokenId: randomUUID() })).toMatchObject({ code: 'TOKEN_NOT_FOUND' })
  })
})
