/** Tokens: who may create, list and revoke them, how they are looked up, and what members of a project may do with theirs. */
import { randomUUID } from 'node:crypto'
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createRates } from '../../../src/services/access/admission.ts'
import { createAuthenticator } from '../../../src/services/access/authenticate.ts'
import { ensureAdminToken, newToken } from '../../../src/services/access/tokens.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { recordedDatabase } from '../../support/database/recorded-database.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'
import { createFactories } from '../../support/sessions/factories.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('the admin token and lookups', () => {
  const log = pino({ enabled: false })
  let database: TestDatabase
  let dataDir: string

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    await database.fresh()
    dataDir = await temporaryDirectory('tokens')
  })

  describe('the admin token', () => {
    test('is made once, for its owner alone, and opens everything', async () => {
      const first = await ensureAdminToken(database.db, dataDir, 'one-per-directory')
      const second = await ensureAdminToken(database.db, dataDir, 'one-per-directory')
      expect(first).toMatchObject({ created: true, path: join(dataDir, 'admin-token') })
      expect(second).toEqual({ ...first, created: false })
      expect((await stat(first.path)).mode & 0o777).toBe(0o600)
      expect((await readFile(first.path, 'utf8')).trim()).toBe(first.token)
      const viewer = await createAuthenticator({ db: database.db, log })(first.token!)
      expect(viewer).toMatchObject({ role: 'ADMIN', projectId: null, name: 'admin' })
    })

    test('is known to another database that the directory meets', async () => {
      const { token } = await ensureAdminToken(database.db, dataDir, 'one-per-directory')
      await database.fresh()
      expect(await createAuthenticator({ db: database.db, log })(token!)).toBeNull()
      await ensureAdminToken(database.db, dataDir, 'one-per-directory')
      expect(await createAuthenticator({ db: database.db, log })(token!)).not.toBeNull()
    })

    test('is one, though many start at once', async () => {
      const all = await Promise.all(
        Array.from({ length: 8 }, () => ensureAdminToken(database.db, dataDir, 'one-per-directory')),
      )
      expect(new Set(all.map(({ token }) => token)).size).toBe(1)
      expect(all.filter(({ created }) => created)).toHaveLength(1)
    })

    test('is one for a database, though servers with empty directories start at once', async () => {
      const directories = await Promise.all(Array.from({ length: 8 }, () => temporaryDirectory('tokens')))
      const all = await Promise.all(directories.map((each) => ensureAdminToken(database.db, each, 'one-per-database')))
      const [made, ...others] = all.toSorted((a, b) => Number(b.created) - Number(a.created))
      expect(made).toMatchObject({ created: true, token: expect.any(String) })
      expect(others).toEqual(others.map(({ path }) => ({ token: null, path, created: false })))
      const { rows } = await database.db.query('SELECT name FROM api_tokens')
      expect(rows).toEqual([{ name: 'admin' }])
      await expect(Promise.all(others.map(({ path }) => stat(path)))).rejects.toThrow('ENOENT')
    })

    test('is taken from the directory that it was put into', async () => {
      const { path, token } = await ensureAdminToken(database.db, dataDir, 'one-per-database')
      const second = await temporaryDirectory('tokens')
      await copyFile(path, join(second, 'admin-token'))
      expect(await ensureAdminToken(database.db, second, 'one-per-database')).toMatchObject({ token, created: false })
    })

    test('is replaced when it was lost', async () => {
      const lost = await ensureAdminToken(database.db, dataDir, 'one-per-database')
      const second = await temporaryDirectory('tokens')
      const found = await ensureAdminToken(database.db, second, 'replace')
      expect(found.created).toBe(true)
      const authenticate = createAuthenticator({ db: database.db, log })
      expect(await authenticate(lost.token!)).toBeNull()
      expect(await authenticate(found.token!)).toMatchObject({ role: 'ADMIN', projectId: null })
    })

    test('does not overwrite a file that holds something else', async () => {
      await writeFile(join(dataDir, 'admin-token'), 'my shopping list')
      await expect(ensureAdminToken(database.db, dataDir, 'one-per-directory')).rejects.toThrow('holds no token')
    })
  })

  describe('a token', () => {
    test('is looked up once in a while, and works no longer than that once revoked', async () => {
      let now = 0
      const authenticate = createAuthenticator({ db: database.db, log, now: () => now })
      const token = await createFactories(database.db).token({ role: 'ADMIN' })
      await authenticate(token)
      const { statements } = await recordStatements(() => Promise.all([authenticate(token), authenticate(token)]))
      expect(statements).toEqual([])
      await database.db.query('UPDATE api_tokens SET revoked_at = now()')
      expect(await authenticate(token)).not.toBeNull()
      now += 3_001
      expect(await authenticate(token)).toBeNull()
    })

    test('is noted as used, once', async () => {
      const authenticate = createAuthenticator({ db: database.db, log })
      const token = await createFactories(database.db).token({ role: 'ADMIN' })
      const usedAt = async () =>
        (await database.db.query('SELECT last_used_at AS at FROM api_tokens')).rows[0]!['at'] as Date
      await authenticate(token)
      const first = await eventually(usedAt)
      // The recording of a use starts before the answer.
      const { db, statements } = recordedDatabase(database.db)
      await createAuthenticator({ db, log })(token)
      expect([...statements.keys()].filter((text) => /UPDATE/.test(text))).toEqual([])
      expect(statements.size).toBe(1)
      expect(await usedAt()).toEqual(first)
    })

    test('that could not be one costs no statement', async () => {
      const authenticate = createAuthenticator({ db: database.db, log })
      const { result, statements } = await recordStatements(() => authenticate("' OR 1=1 --"))
      expect(result).toBeNull()
      expect(statements).toEqual([])
    })

    test('is found among a crowd of unknown ones from its address, for the price of two statements', async () => {
      const failures = createRates(0.1)
      const authenticate = createAuthenticator({ db: database.db, log, failures })
      const token = await createFactories(database.db).token({ role: 'ADMIN' })
      expect(await authenticate(newToken(), 'campus')).toBeNull()
      expect(failures.allows('campus')).toBe(false)
      const crowd = [...Array.from({ length: 500 }, newToken), token, ...Array.from({ length: 400 }, newToken)]
      const { result, statements } = await recordStatements(() =>
        Promise.all(crowd.map((each) => authenticate(each, 'campus'))),
      )
      expect(result.filter((viewer) => viewer !== null)).toMatchObject([{ role: 'ADMIN' }])
      // The first of the crowd alone, all others together, and what the valid one may do.
      expect(statements.filter((text) => text.includes('api_tokens'))).toHaveLength(3)
    })

    test('is not refused for good because the database was away', async () => {
      const authenticate = createAuthenticator({ db: database.db, log })
      const token = await createFactories(database.db).token({ role: 'ADMIN' })
      await database.db.query('ALTER TABLE api_tokens RENAME TO api_tokens_away')
      await expect(authenticate(token)).rejects.toThrow('api_tokens')
      await database.db.query('ALTER TABLE api_tokens_away RENAME TO api_tokens')
      expect(await authenticate(token)).not.toBeNull()
    })
  })
})

describe('tokens over GraphQL', () => {
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

  test('a token works until it expires', async () => {
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
  ])('impossible input is refused: %o', async (input, paths) => {
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
      expect(await ask(REVOKE, { tokenId: own.token.tokenId }, admin)).toMatchObject({
        __typename: 'RevokeTokenPayload',
      })
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
})

describe('tokens of users', () => {
  beforeAll(async () => {
    await mutate('createUser', { name: 'eva' })
    await mutate('createProject', { name: 'optics' })
  })

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

  const setRole = (role: string) => mutate('setProjectMember', { project: 'optics', user: 'eva', role })
  const make = (input: object) =>
    mutate(
      'createToken',
      { name: 't', project: 'optics', user: 'eva', ...input },
      'secret token { role user { name } }',
    )
  const work = { name: 'w', command: ['true'], project: 'optics' }
  const create = (token: string) => mutate('createSession', work, 'session { sessionId }', token)

  /** A token is looked up again after 3 s. */
  const SOON = { timeout: 120_000, interval: 300 }

  test('a token of a user creates that user’s sessions, and those count under its quota', async () => {
    expect(await make({ role: 'MEMBER' })).toMatchObject({ code: 'USER_NOT_FOUND' })
    await setRole('MEMBER')
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
    await setRole('VIEWER')
    expect(await make({ role: 'MEMBER' })).toMatchObject({ issues: [{ path: 'role' }] })
    expect(await make({ role: 'VIEWER' })).toMatchObject({ __typename: 'CreateTokenPayload' })
    expect(await make({ role: 'VIEWER', user: 'nobody' })).toMatchObject({ code: 'USER_NOT_FOUND' })
    expect(await make({ role: 'AGENT', project: null })).toMatchObject({ issues: [{ path: 'user' }] })
  })

  test('a member’s role that changes or ends does so for its tokens within seconds, open subscriptions included', async () => {
    await setRole('MEMBER')
    const { secret } = await make({ role: 'MEMBER' })
    expect(await create(secret)).toMatchObject({ __typename: 'CreateSessionPayload' })
    await setRole('VIEWER')
    await expect.poll(() => create(secret), SOON).toMatchObject({ code: 'FORBIDDEN' })
    // The role of a token is a bound: it does not grow with the role of its user.
    await setRole('ADMIN')
    await expect.poll(() => create(secret), SOON).toMatchObject({ __typename: 'CreateSessionPayload' })
    expect(
      await mutate('createToken', { name: 'x', role: 'VIEWER', project: 'optics' }, 'secret', secret),
    ).toMatchObject({ code: 'FORBIDDEN' })

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

  test('the administrator of a project makes tokens for it without naming it', async () => {
    await mutate('createProject', { name: 'acoustics' })
    const admin = await mutate('createToken', { name: 'a', role: 'ADMIN', project: 'acoustics' }, 'secret')
    const own = 'token { project { name } }'
    expect(await mutate('createToken', { name: 'b', role: 'MEMBER' }, own, admin.secret)).toMatchObject({
      token: { project: { name: 'acoustics' } },
    })
    expect(await mutate('createToken', { name: 'b', role: 'MEMBER' }, own)).toMatchObject({
      issues: [{ path: 'project' }],
    })
  })
})
