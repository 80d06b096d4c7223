import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { loginOf, logInBrowser, newBrowserKey, type BrowserLogin } from '../../support/servers/browser-login.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { type Headers, OURS, useLoginServer } from './login-server.ts'

/** Logins of browsers to the web UI, which other sites cannot use. */

const given = useLoginServer()
const { ask, logIn, whoAmI, idOf, revoke } = given
const KEY = 'x-reprise-browser-key'

describe('logging in', () => {
  test('gives the browser its own token, which no script can read and no other site can send', async () => {
    const headers = { authorization: `Bearer ${given.server.adminToken}`, [KEY]: newBrowserKey() }
    const response = await ask('POST', '/ui/session', headers)
    const [header, ...others] = response.headers.getSetCookie()
    expect(others).toEqual([])
    expect(header).toMatch(/^reprise_session=rpr_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/)
    expect(header).not.toContain(given.server.adminToken)
    expect(await response.text()).toBe('')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('over https, also that of a proxy, keeps the cookie off plain connections, and no other host can set it', async () => {
    const [key, origin] = [newBrowserKey(), 'https://reprise.example.org']
    const headers = { authorization: `Bearer ${given.server.adminToken}`, origin, [KEY]: key }
    const response = await ask('POST', '/ui/session', headers)
    const [header, before] = response.headers.getSetCookie()
    expect(header).toMatch(
      /^__Host-reprise_session=rpr_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800; Secure$/,
    )
    expect(before).toBe('reprise_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
    const login = loginOf(response, key)
    expect(await whoAmI(login.headers)).not.toBeNull()
    const left = await ask('DELETE', '/ui/session', { ...login.headers, origin })
    expect(left.headers.getSetCookie()).toEqual([
      '__Host-reprise_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0; Secure',
      'reprise_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ])
  })

  test.each([undefined, '', 'short', `${'k'.repeat(43)}~`])(
    'with the key %s is refused, and uses no code up',
    async (key) => {
      const token = await given.server.factory.token({ role: 'ADMIN' })
      const answer = await ask('POST', '/ui/code', { authorization: `Bearer ${token}` })
      const { code } = (await answer.json()) as { code: string }
      for (const authorization of [`Bearer ${token}`, `Code ${code}`]) {
        const response = await ask('POST', '/ui/session', { authorization, ...(key !== undefined && { [KEY]: key }) })
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject({
          code: 'MALFORMED_REQUEST',
          detail: expect.stringContaining('reload it'),
        })
        expect(response.headers.getSetCookie()).toEqual([])
      }
      await logInBrowser(given.server.url, `Code ${code}`)
    },
  )

  test('stores a hash of the cookie and the key together, and neither of them', async () => {
    const { cookie, key } = await logIn(await given.server.factory.token({ role: 'ADMIN', name: 'hashed' }))
    const secret = cookie.split('=')[1]!
    const { rows } = await given.server.db.query<{ hash: Buffer; row: string }>(
      `SELECT hash, to_jsonb(t)::text AS row FROM api_tokens t WHERE name = 'hashed' AND parent_id IS NOT NULL`,
    )
    expect(rows).toHaveLength(1)
    const [{ hash, row }] = rows as [{ hash: Buffer; row: string }]
    for (const part of [secret, key]) expect(row).not.toContain(part)
    for (const half of [secret, key]) expect(hash.equals(createHash('sha256').update(half).digest())).toBe(false)
    expect(hash.equals(createHash('sha256').update(`${secret}~${key}`).digest())).toBe(true)
  })

  test('gives the rights of the token, and its name', async () => {
    const viewer = await given.server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID, name: 'reader' })
    expect(await whoAmI((await logIn(viewer)).headers)).toBe('reader VIEWER')
  })

  test('is the same over REST as over GraphQL', async () => {
    const { headers } = await logIn(given.server.adminToken)
    expect((await ask('GET', '/v2/sessions', headers)).status).toBe(200)
    expect((await ask('GET', '/v2/sessions', { ...headers, 'sec-fetch-site': 'none' })).status).toBe(401)
  })

  test.each(['AGENT', 'METRICS'] as const)('is not for tokens of role %s', async (role) => {
    const token = await given.server.factory.token({ role })
    const headers = { authorization: `Bearer ${token}`, [KEY]: newBrowserKey() }
    const response = await ask('POST', '/ui/session', headers)
    expect(response.status).toBe(403)
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test.each([undefined, 'Bearer', 'Bearer rpr_0000000000000000000000000000000000000000000', 'Code', 'Code x'])(
    'with %s is refused',
    async (authorization) => {
      const headers = { [KEY]: newBrowserKey(), ...(authorization !== undefined && { authorization }) }
      const response = await ask('POST', '/ui/session', headers)
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ code: 'UNAUTHENTICATED' })
      expect(response.headers.getSetCookie()).toEqual([])
    },
  )

  test('is not possible with a session, which would otherwise live for ever', async () => {
    const { headers } = await logIn(given.server.adminToken)
    expect((await ask('POST', '/ui/session', headers)).status).toBe(403)
    expect((await ask('POST', '/ui/code', headers)).status).toBe(403)
  })

  test('is on record', async () => {
    const token = await given.server.factory.token({ role: 'ADMIN', name: 'recorded' })
    await ask('DELETE', '/ui/session', (await logIn(token)).headers)
    const { rows } = await given.server.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE actor = 'recorded' ORDER BY at`,
    )
    expect(rows.map(({ action }) => action)).toEqual(['browser.login', 'browser.logout'])
  })
})

describe('the cookie and its key', () => {
  let login: BrowserLogin
  let cookie: string
  beforeAll(async () => {
    login = await logIn(given.server.adminToken)
    cookie = login.cookie
  })

  test.each<[string, Headers]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling of the site', { 'sec-fetch-site': 'same-site' }],
    ['nobody, as with an address that was typed in', { 'sec-fetch-site': 'none' }],
    ['another site that says it were this one', { 'sec-fetch-site': 'cross-site', origin: 'SELF' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['another port of the machine', { origin: 'http://127.0.0.1:1' }],
    ['a host whose name begins like this one', { origin: 'http://127.0.0.1:PORT.evil.example' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['something without an origin', {}],
  ])('are nothing when they come from %s', async (_who, sent) => {
    const headers = Object.fromEntries(
      Object.entries(sent).map(([name, value]) => [
        name,
        value.replace('SELF', given.server.url).replace('PORT', given.port),
      ]),
    )
    const stranger = { ...headers, cookie, [KEY]: login.key }
    expect(await whoAmI(stranger)).toBeNull()
    expect((await ask('GET', '/v2/sessions', stranger)).status).toBe(401)
    await ask('DELETE', '/ui/session', stranger)
    expect(await whoAmI(login.headers)).not.toBeNull()
  })

  test('are taken from browsers that send an origin only', async () => {
    expect(await whoAmI({ origin: given.server.url, cookie, [KEY]: login.key })).not.toBeNull()
  })

  test('are taken among others, and only under their names', async () => {
    const withCookie = (other: string) => whoAmI({ ...login.headers, cookie: other })
    expect(await withCookie(`a=b; ${cookie}; c=d`)).not.toBeNull()
    expect(await withCookie(`not_${cookie}`)).toBeNull()
    expect(await withCookie(`${cookie}x`)).toBeNull()
    expect(await withCookie('reprise_session=')).toBeNull()
  })

  test('do not go before a token that is sent', async () => {
    const token = await given.server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID, name: 'sent' })
    expect(await whoAmI({ ...login.headers, authorization: `Bearer ${token}` })).toBe('sent VIEWER')
    expect(await whoAmI({ ...login.headers, authorization: 'Bearer wrong' })).toBeNull()
  })

  test('of two logins do not fit each other', async () => {
    const other = await logIn(given.server.adminToken)
    expect(await whoAmI({ ...login.headers, cookie: other.cookie })).toBeNull()
    expect(await whoAmI({ ...login.headers, [KEY]: other.key })).toBeNull()
  })

  test('are found where a program on another port has set cookies of the same name', async () => {
    // It may have a login of its own.
    const foreign = (await logIn(await given.server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })))
      .cookie
    const made = Array.from({ length: 20 }, () => `reprise_session=rpr_${newBrowserKey()}`)
    const planted = [...made, foreign].join('; ')
    expect(await whoAmI({ ...login.headers, cookie: `${planted}; ${cookie}` })).toBe(await whoAmI(login.headers))
    expect(await whoAmI({ ...login.headers, cookie: `${cookie}; ${foreign}` })).toBe(await whoAmI(login.headers))
    expect(await whoAmI({ ...login.headers, cookie: planted })).toBeNull()
  })

  test('of an earlier server ask for another login, and a page learns that', async () => {
    const parent = await given.server.factory.token({ role: 'ADMIN' })
    const secret = `rpr_${newBrowserKey()}`
    await given.server.db.query(
      `INSERT INTO api_tokens (id, name, hash, prefix, role, parent_id, expires_at, last_used_at)
       SELECT gen_random_uuid(), name, $2, 'rpr_old', role, id, now() + interval '1 day', now() FROM api_tokens WHERE id = $1`,
      [await idOf(parent), createHash('sha256').update(secret).digest()],
    )
    const response = await ask('GET', '/v2/sessions', { ...OURS, cookie: `reprise_session=${secret}` })
    expect(response.status).toBe(401)
    expect(response.headers.get('x-reprise-login')).toBe('incomplete')
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining('Log in again.') })
    expect(await whoAmI({ authorization: `Bearer ${secret}` })).toBeNull()
    expect(await whoAmI({ ...login.headers, cookie: `reprise_session=${secret}` })).toBeNull()
    expect((await ask('GET', '/v2/sessions', login.headers)).headers.get('x-reprise-login')).toBeNull()
    expect((await ask('GET', '/v2/sessions', OURS)).headers.get('x-reprise-login')).toBeNull()
  })
})

describe('codes', () => {
  async function issue(token: string): Promise<string> {
    const response = await ask('POST', '/ui/code', { authorization: `Bearer ${token}` })
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    return ((await response.json()) as { code: string }).code
  }
  const redeem = (code: string, key = newBrowserKey()) =>
    ask('POST', '/ui/session', { authorization: `Code ${code}`, [KEY]: key })

  test('log a browser in as their token, once', async () => {
    const token = await given.server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID, name: 'coded' })
    const code = await issue(token)
    expect(await whoAmI({ authorization: `Bearer ${code}` })).toBeNull()
    const key = newBrowserKey()
    const answers = await Promise.all([redeem(code, key), redeem(code, key), redeem(code, key)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 401, 401])
    const { headers } = loginOf(
      answers.find(({ status }) => status === 204)!,
      key,
    )
    expect(await whoAmI(headers)).toBe('coded VIEWER')
    expect((await redeem(code)).status).toBe(401)
  })

  test('are good for a minute, and for as long as their token is', async () => {
    const old = await given.server.factory.token({ role: 'ADMIN' })
    const code = await issue(old)
    await given.server.db.query(`UPDATE login_codes SET expires_at = now() WHERE token_id = $1`, [await idOf(old)])
    expect((await redeem(code)).status).toBe(401)
    const revoked = await given.server.factory.token({ role: 'ADMIN' })
    const late = await issue(revoked)
    await revoke(revoked)
    expect((await redeem(late)).status).toBe(401)
  })

  test('are one for each token: the newest', async () => {
    const token = await given.server.factory.token({ role: 'ADMIN' })
    const [first, second] = [await issue(token), await issue(token)]
    expect((await redeem(first)).status).toBe(401)
    expect((await redeem(second)).status).toBe(204)
  })

  test('are stored as hashes alone', async () => {
    const code = await issue(await given.server.factory.token({ role: 'ADMIN' }))
    const { rows } = await given.server.db.query(
      `SELECT 1 AS one FROM login_codes WHERE encode(hash, 'escape') LIKE '%rpr%'`,
    )
    expect(rows).toEqual([])
    expect((await redeem(code)).status).toBe(204)
  })

  test('need a token that may read', async () => {
    expect((await ask('POST', '/ui/code', {})).status).toBe(401)
    const agent = await given.server.factory.token({ role: 'AGENT' })
    expect((await ask('POST', '/ui/code', { authorization: `Bearer ${agent}` })).status).toBe(403)
  })
})

test.each(['GET', 'PUT'])('%s is not allowed on these paths', async (method) => {
  expect((await ask(method, '/ui/session', { authorization: `Bearer ${given.server.adminToken}` })).status).toBe(405)
})
