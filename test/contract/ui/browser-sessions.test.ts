import { on, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { eventually } from '../../support/eventually.ts'
import { newBrowserKey, type BrowserLogin } from '../../support/servers/browser-login.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { type Headers, useLoginServer } from './login-server.ts'

/** The lifetime of a login, and the sockets that a browser may open. */

const given = useLoginServer()
const { ask, logIn, whoAmI, idOf, revoke } = given

// Side by side: the server trusts what it has looked up for some seconds.
describe.concurrent('sockets', () => {
  /** Opens a socket with these headers, and returns its first message or close code. */
  async function open(headers: Headers, browserKey?: unknown): Promise<{ socket: WebSocket; first: string }> {
    const url = `${given.server.url.replace('http', 'ws')}/graphql`
    const socket = new WebSocket(url, 'graphql-transport-ws', { headers })
    await once(socket, 'open')
    const first = Promise.race([
      once(socket, 'message').then(([data]) => (JSON.parse(String(data)) as { type: string }).type),
      once(socket, 'close').then(([code]) => String(code)),
    ])
    socket.send(JSON.stringify({ type: 'connection_init', payload: { browserKey } }))
    return { socket, first: await first }
  }

  const openAs = ({ cookie, key }: BrowserLogin) => open({ cookie, origin: given.server.url }, key)

  test('are authenticated by the cookie and the key of the first message, if a page of this server opens them', async () => {
    const login = await logIn(given.server.adminToken)
    const { cookie, key } = login
    const { socket, first } = await openAs(login)
    expect(first).toBe('connection_ack')
    socket.terminate()
    expect((await open({ cookie, origin: 'https://evil.example' }, key)).first).toBe('4401')
    expect((await open({ cookie }, key)).first).toBe('4401')
    expect((await open({ origin: given.server.url }, key)).first).toBe('4401')
    for (const other of [undefined, null, {}, '', 'short', newBrowserKey(), `${key}~${key}`])
      expect((await open({ cookie, origin: given.server.url }, other)).first).toBe('4401')
  })

  test.each(['the token is revoked', 'the browser logs out'])('with subscriptions close when %s', async (why) => {
    const token = await given.server.factory.token({ role: 'ADMIN' })
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
        given.server.db.query(`UPDATE api_tokens SET expires_at = now() - interval '1 second' WHERE id = $1`, [
          await idOf(token),
        ]),
    ],
  ])('without any subscription also close when %s', async (_why, end) => {
    const token = await given.server.factory.token({ role: 'ADMIN' })
    const login = await logIn(token)
    const { socket } = await openAs(login)
    const closed = once(socket, 'close')
    await end(token, login)
    expect((await closed)[0]).toBe(4401)
  })

  test('have the present rights of their token', async () => {
    const token = await given.server.factory.token({ role: 'ADMIN', projectId: DEFAULT_PROJECT_ID })
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
    await given.server.db.query(`UPDATE api_tokens SET role = 'VIEWER' WHERE $1 IN (id, parent_id)`, [
      await idOf(token),
    ])
    await eventually(async () => !(await seesTokens()))
    socket.terminate()
  })
})

describe.concurrent('a session ends', () => {
  /** Waits for as long as the server trusts what it has looked up. */
  const hasEnded = ({ headers }: BrowserLogin) => eventually(async () => (await whoAmI(headers)) === null)

  test('when its token is revoked, and that token alone', async () => {
    const [token, other] = [
      await given.server.factory.token({ role: 'ADMIN' }),
      await given.server.factory.token({ role: 'ADMIN' }),
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
    const token = await given.server.factory.token({ role: 'ADMIN' })
    const login = await logIn(token)
    await given.server.db.query(sql, [await idOf(token)])
    await hasEnded(login)
  })

  test('by logging out, only in this browser, which loses the cookie, too', async () => {
    const [login, elsewhere] = [await logIn(given.server.adminToken), await logIn(given.server.adminToken)]
    const response = await ask('DELETE', '/ui/session', login.headers)
    expect(response.status).toBe(204)
    expect(response.headers.getSetCookie()).toEqual(['reprise_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'])
    await hasEnded(login)
    expect(await whoAmI(elsewhere.headers)).not.toBeNull()
  })

  test('and logging out with a token leaves the token alone', async () => {
    expect((await ask('DELETE', '/ui/session', { authorization: `Bearer ${given.server.adminToken}` })).status).toBe(
      204,
    )
    expect(await whoAmI({ authorization: `Bearer ${given.server.adminToken}` })).not.toBeNull()
  })

  test('and its row goes at the next login', async () => {
    const token = await given.server.factory.token({ role: 'ADMIN' })
    await ask('DELETE', '/ui/session', (await logIn(token)).headers)
    await logIn(token)
    const { rows } = await given.server.db.query(`SELECT 1 AS one FROM api_tokens WHERE parent_id = $1`, [
      await idOf(token),
    ])
    expect(rows).toHaveLength(1)
  })
})

test('sessions are not among the tokens, and cannot leave a cluster without an administrator', async () => {
  const token = await given.server.factory.token({ role: 'ADMIN', name: 'only-once' })
  const login = await logIn(token)
  const { data } = await given.server.query('{ tokens(first: 100) { totalCount edges { node { name } } } }')
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
