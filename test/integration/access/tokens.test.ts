/** The admin token, and how tokens are looked up. */
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/services/access/authenticate.ts'
import { createRates } from '../../../src/services/access/admission.ts'
import { ensureAdminToken, newToken } from '../../../src/services/access/tokens.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { recordedDatabase } from '../../support/database/recorded-database.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

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

  test('is not made anew over a file that holds something else', async () => {
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
    // Whoever notes a use begins with it before it answers.
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
