/** How browsers log in to the web UI, stay so and no longer, and what other sites can do with it: nothing. */
import { createHash } from 'node:crypto'
import { on, once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../../src/http/ui-files.ts'
import { ROOT } from '../../guard/source-files.ts'
import { eventually } from '../../support/eventually.ts'
import { loginOf, logInBrowser, newBrowserKey, type BrowserLogin } from '../../support/servers/browser-login.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'

let server: TestServer
let port: string

beforeAll(async () => {
  server = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
  port = new URL(server.url).port
})
afterAll(() => server?.close())

type Headers = Record<string, string>

function ask(method: string, path: string, headers: Headers, body?: string): Promise<Response> {
  return fetch(`${server.url}${path}`, { method, headers, ...(body && { body }) })
}

/** Of a browser that has just logged in with the token. */
const logIn = (token: string) => logInBrowser(server.url, `Bearer ${token}`)

/** What browsers send along with what a page of this server asks for. */
const OURS: Headers = { 'sec-fetch-site': 'same-origin' }
const KEY = 'x-reprise-browser-key'

/** Who the server says that one is; null for nobody. */
async function whoAmI(headers: Headers): Promise<string | null> {
  const body = JSON.stringify({ query: '{ viewer { name role } }' })
  const response = await ask('POST', '/graphql', { 'content-type': 'application/json', ...headers }, body)
  const { data } = (await response.json()) as { data?: { viewer: { name: string; role: string } } | null }
  return data ? `${data.viewer.name} ${data.viewer.role}` : null
}

async function idOf(token: string): Promise<string> {
  return (await server.query('{ viewer { tokenId } }', {}, token)).data.viewer.tokenId as string
}

async function revoke(token: string): Promise<void> {
  const mutation = `mutation ($tokenId: UUID!) { revokeToken(input: { tokenId: $tokenId }) { __typename } }`
  const { data } = await server.query(mutation, { tokenId: await idOf(token) })
  expect(data.revokeToken.__typename).toBe('RevokeTokenPayload')
}

describe('logging in', () => {
  test('gives the browser a token of its own, which no script can read and no other site send', async () => {
    const headers = { authorization: `Bearer ${server.adminToken}`, [KEY]: newBrowserKey() }
    const response = await ask('POST', '/ui/session', headers)
    const [header, ...others] = response.headers.getSetCookie()
    expect(others).toEqual([])
    expect(header).toMatch(/^reprise_session=rpr_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/)
    expect(header).not.toContain(server.adminToken)
    expect(await response.text()).toBe('')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('over https, also that of a proxy, keeps the cookie off plain connections, and no other host can set it', async () => {
    const [key, origin] = [newBrowserKey(), 'https://reprise.example.org']
    const headers = { authorization: `Bearer ${server.adminToken}`, origin, [KEY]: key }
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
      const token = await server.factory.token({ role: 'ADMIN' })
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
      await logInBrowser(server.url, `Code ${code}`)
    },
  )

  test('stores a hash of the cookie and the key together, and neither of them', async () => {
    const { cookie, key } = await logIn(await server.factory.token({ role: 'ADMIN', name: 'hashed' }))
    const secret = cookie.split('=')[1]!
    const { rows } = await server.db.query<{ hash: Buffer; row: string }>(
      `SELECT hash, to_jsonb(t)::text AS row FROM api_tokens t WHERE name = 'hashed' AND parent_id IS NOT NULL`,
    )
    expect(rows).toHaveLength(1)
    const [{ hash, row }] = rows as [{ hash: Buffer; row: string }]
    for (const part of [secret, key]) expect(row).not.toContain(part)
    for (const half of [secret, key]) expect(hash.equals(createHash('sha256').update(half).digest())).toBe(false)
    expect(hash.equals(createHash('sha256').update(`${secret}~${key}`).digest())).toBe(true)
  })

  test('gives the rights of the token, and its name', async () => {
    const viewer = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID, name: 'reader' })
    expect(await whoAmI((await logIn(viewer)).headers)).toBe('reader VIEWER')
  })

  test('is over REST what it is over GraphQL', async () => {
    const { headers } = await logIn(server.adminToken)
    expect((await ask('GET', '/v2/sessions', headers)).status).toBe(200)
    expect((await ask('GET', '/v2/sessions', { ...headers, 'sec-fetch-site': 'none' })).status).toBe(401)
  })

  test.each(['AGENT', 'METRICS'] as const)('is not for tokens of role %s', async (role) => {
    const token = await server.factory.token({ role })
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
    const { headers } = await logIn(server.adminToken)
    expect((await ask('POST', '/ui/session', headers)).status).toBe(403)
    expect((await ask('POST', '/ui/code', headers)).status).toBe(403)
  })

  test('is on record', async () => {
    const token = await server.factory.token({ role: 'ADMIN', name: 'recorded' })
    await ask('DELETE', '/ui/session', (await logIn(token)).headers)
    const { rows } = await server.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE actor = 'recorded' ORDER BY at`,
    )
    expect(rows.map(({ action }) => action)).toEqual(['browser.login', 'browser.logout'])
  })
})

describe('the cookie and its key', () => {
  let login: BrowserLogin
  let cookie: string
  beforeAll(async () => {
    login = await logIn(server.adminToken)
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
  ])('are nothing when they come from %s', async (_who, given) => {
    const headers = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, value.replace('SELF', server.url).replace('PORT', port)]),
    )
    const stranger = { ...headers, cookie, [KEY]: login.key }
    expect(await whoAmI(stranger)).toBeNull()
    expect((await ask('GET', '/v2/sessions', stranger)).status).toBe(401)
    await ask('DELETE', '/ui/session', stranger)
    expect(await whoAmI(login.headers)).not.toBeNull()
  })

  test('are taken from browsers that send an origin only', async () => {
    expect(await whoAmI({ origin: server.url, cookie, [KEY]: login.key })).not.toBeNull()
  })

  test('are taken among others, and only under their names', async () => {
    const withCookie = (other: string) => whoAmI({ ...login.headers, cookie: other })
    expect(await withCookie(`a=b; ${cookie}; c=d`)).not.toBeNull()
    expect(await withCookie(`not_${cookie}`)).toBeNull()
    expect(await withCookie(`${cookie}x`)).toBeNull()
    expect(await withCookie('reprise_session=')).toBeNull()
  })

  test('do not go before a token that is sent', async () => {
    const token = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID, name: 'sent' })
    expect(await whoAmI({ ...login.headers, authorization: `Bearer ${token}` })).toBe('sent VIEWER')
    expect(await whoAmI({ ...login.headers, authorization: 'Bearer wrong' })).toBeNull()
  })

  test('of two logins do not fit each other', async () => {
    const other = await logIn(server.adminToken)
    expect(await whoAmI({ ...login.headers, cookie: other.cookie })).toBeNull()
    expect(await whoAmI({ ...login.headers, [KEY]: other.key })).toBeNull()
  })

  test('are found where a program on another port has set cookies of the same name', async () => {
    // It may have a login of its own.
    const foreign = (await logIn(await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID }))).cookie
    const made = Array.from({ length: 20 }, () => `reprise_session=rpr_${newBrowserKey()}`)
    const planted = [...made, foreign].join('; ')
    expect(await whoAmI({ ...login.headers, cookie: `${planted}; ${cookie}` })).toBe(await whoAmI(login.headers))
    expect(await whoAmI({ ...login.headers, cookie: `${cookie}; ${foreign}` })).toBe(await whoAmI(login.headers))
    expect(await whoAmI({ ...login.headers, cookie: planted })).toBeNull()
  })

  test('of a server before this one ask for another login, and a page is told so', async () => {
    const parent = await server.factory.token({ role: 'ADMIN' })
    const secret = `rpr_${newBrowserKey()}`
    await server.db.query(
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

// Side by side: the server trusts what it has looked up for some seconds.
describe.concurrent('sockets', () => {
  /** What becomes of a socket that is opened with these headers. */
  async function open(headers: Headers, browserKey?: unknown): Promise<{ socket: WebSocket; first: string }> {
    const url = `${server.url.replace('http', 'ws')}/graphql`
    const socket = new WebSocket(url, 'graphql-transport-ws', { headers })
    await once(socket, 'open')
    const first = Promise.race([
      once(socket, 'message').then(([data]) => (JSON.parse(String(data)) as { type: string }).type),
      once(socket, 'close').then(([code]) => String(code)),
    ])
    socket.send(JSON.stringify({ type: 'connection_init', payload: { browserKey } }))
    return { socket, first: await first }
  }

  const openAs = ({ cookie, key }: BrowserLogin) => open({ cookie, origin: server.url }, key)

  test('are authenticated by the cookie and the key of the first message, if a page of this server opens them', async () => {
    const login = await logIn(server.adminToken)
    const { cookie, key } = login
    const { socket, first } = await openAs(login)
    expect(first).toBe('connection_ack')
    socket.terminate()
    expect((await open({ cookie, origin: 'https://evil.example' }, key)).first).toBe('4401')
    expect((await open({ cookie }, key)).first).toBe('4401')
    expect((await open({ origin: server.url }, key)).first).toBe('4401')
    for (const other of [undefined, null, {}, '', 'short', newBrowserKey(), `${key}~${key}`])
      expect((await open({ cookie, origin: server.url }, other)).first).toBe('4401')
  })

  test.each(['the token is revoked', 'the browser logs out'])('with subscriptions close when %s', async (why) => {
    const token = await server.factory.token({ role: 'ADMIN' })
    const login = await logIn(token)
    const { socket } = await openAs(login)
    const closed = once(socket, 'close')
    const query = 'subscription { sessionEvents { cursor } }'
    socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }))
    if (why === 'the token is revoked') await revoke(token)
    else expect((await ask('DELETE', '/ui/session', login.headers)).status).toBe(204)
    expect((await closed)[0]).toBe(4401)
  })

  test.each([
    ['the token is revoked', revoke],
    ['the browser logs out', (_: string, { headers }: BrowserLogin) => ask('DELETE', '/ui/session', headers)],
    [
      'the token expires',
      async (token: string) =>
        server.db.query(`UPDATE api_tokens SET expires_at = now() - interval '1 second' WHERE id = $1`, [
          await idOf(token),
        ]),
    ],
  ])('without any subscription close when %s, too', async (_why, end) => {
    const token = await server.factory.token({ role: 'ADMIN' })
    const login = await logIn(token)
    const { socket } = await openAs(login)
    const closed = once(socket, 'close')
    await end(token, login)
    expect((await closed)[0]).toBe(4401)
  })

  test('have the rights that their token has by now', async () => {
    const token = await server.factory.token({ role: 'ADMIN', projectId: DEFAULT_PROJECT_ID })
    const { socket } = await openAs(await logIn(token))
    let asked = 0
    const seesTokens = async () => {
      const id = String(asked++)
      socket.send(JSON.stringify({ type: 'subscribe', id, payload: { query: '{ tokens(first: 1) { totalCount } }' } }))
      for await (const [data] of on(socket, 'message')) {
        const message = JSON.parse(String(data)) as { type: string; id: string; payload: any }
        if (message.type === 'next' && message.id === id) return message.payload.data.tokens !== null
      }
      throw new Error('the socket is closed')
    }
    expect(await seesTokens()).toBe(true)
    await server.db.query(`UPDATE api_tokens SET role = 'VIEWER' WHERE $1 IN (id, parent_id)`, [await idOf(token)])
    await eventually(async () => !(await seesTokens()))
    socket.terminate()
  })
})

describe.concurrent('a session ends', () => {
  /** Waits for as long as the server trusts what it has looked up. */
  const hasEnded = ({ headers }: BrowserLogin) => eventually(async () => (await whoAmI(headers)) === null)

  test('when its token is revoked, and that token alone', async () => {
    const [token, other] = [
      await server.factory.token({ role: 'ADMIN' }),
      await server.factory.token({ role: 'ADMIN' }),
    ]
    const [login, kept] = [await logIn(token), await logIn(other)]
    expect(await whoAmI(login.headers)).not.toBeNull()
    await revoke(token)
    await hasEnded(login)
    expect(await whoAmI(kept.headers)).not.toBeNull()
  })

  test.each([
    ['its token expires', `UPDATE api_tokens SET expires_at = now() - interval '1 second' WHERE id = $1`],
    [
      'nobody used it for 12 hours',
      `UPDATE api_tokens SET last_used_at = now() - interval '12 hours' WHERE parent_id = $1`,
    ],
    ['it is 7 days old', `UPDATE api_tokens SET expires_at = expires_at - interval '7 days' WHERE parent_id = $1`],
    ['its token is gone', `DELETE FROM api_tokens WHERE id = $1`],
  ])('when %s', async (_why, sql) => {
    const token = await server.factory.token({ role: 'ADMIN' })
    const login = await logIn(token)
    await server.db.query(sql, [await idOf(token)])
    await hasEnded(login)
  })

  test('by logging out, in this browser alone; the cookie goes, too', async () => {
    const [login, elsewhere] = [await logIn(server.adminToken), await logIn(server.adminToken)]
    const response = await ask('DELETE', '/ui/session', login.headers)
    expect(response.status).toBe(204)
    expect(response.headers.getSetCookie()).toEqual(['reprise_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'])
    await hasEnded(login)
    expect(await whoAmI(elsewhere.headers)).not.toBeNull()
  })

  test('and logging out with a token leaves the token alone', async () => {
    expect((await ask('DELETE', '/ui/session', { authorization: `Bearer ${server.adminToken}` })).status).toBe(204)
    expect(await whoAmI({ authorization: `Bearer ${server.adminToken}` })).not.toBeNull()
  })

  test('and its row goes at the next login', async () => {
    const token = await server.factory.token({ role: 'ADMIN' })
    await ask('DELETE', '/ui/session', (await logIn(token)).headers)
    await logIn(token)
    const { rows } = await server.db.query(`SELECT 1 AS one FROM api_tokens WHERE parent_id = $1`, [await idOf(token)])
    expect(rows).toHaveLength(1)
  })
})

test('sessions are not among the tokens, and cannot leave a cluster without an administrator', async () => {
  const token = await server.factory.token({ role: 'ADMIN', name: 'only-once' })
  const login = await logIn(token)
  const { data } = await server.query('{ tokens(first: 100) { totalCount edges { node { name } } } }')
  const names = data.tokens.edges.map(({ node }: { node: { name: string } }) => node.name)
  expect(names.filter((name: string) => name === 'only-once')).toHaveLength(1)
  expect(data.tokens.totalCount).toBe(names.length)
  const body = JSON.stringify({
    query: 'mutation ($tokenId: UUID!) { revokeToken(input: { tokenId: $tokenId }) { __typename } }',
    variables: { tokenId: await idOf(token) },
  })
  const headers = { ...login.headers, 'content-type': 'application/json' }
  const answer = await (await ask('POST', '/graphql', headers, body)).json()
  expect(answer).toEqual({ data: { revokeToken: { __typename: 'ValidationError' } } })
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
    const token = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID, name: 'coded' })
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
    const old = await server.factory.token({ role: 'ADMIN' })
    const code = await issue(old)
    await server.db.query(`UPDATE login_codes SET expires_at = now() WHERE token_id = $1`, [await idOf(old)])
    expect((await redeem(code)).status).toBe(401)
    const revoked = await server.factory.token({ role: 'ADMIN' })
    const late = await issue(revoked)
    await revoke(revoked)
    expect((await redeem(late)).status).toBe(401)
  })

  test('are one for each token: the newest', async () => {
    const token = await server.factory.token({ role: 'ADMIN' })
    const [first, second] = [await issue(token), await issue(token)]
    expect((await redeem(first)).status).toBe(401)
    expect((await redeem(second)).status).toBe(204)
  })

  test('are stored as hashes alone', async () => {
    const code = await issue(await server.factory.token({ role: 'ADMIN' }))
    const { rows } = await server.db.query(`SELECT 1 AS one FROM login_codes WHERE encode(hash, 'escape') LIKE '%rpr%'`)
    expect(rows).toEqual([])
    expect((await redeem(code)).status).toBe(204)
  })

  test('need a token that may read', async () => {
    expect((await ask('POST', '/ui/code', {})).status).toBe(401)
    const agent = await server.factory.token({ role: 'AGENT' })
    expect((await ask('POST', '/ui/code', { authorization: `Bearer ${agent}` })).status).toBe(403)
  })
})

test.each(['GET', 'PUT'])('%s is not what these paths are for', async (method) => {
  expect((await ask(method, '/ui/session', { authorization: `Bearer ${server.adminToken}` })).status).toBe(405)
})
