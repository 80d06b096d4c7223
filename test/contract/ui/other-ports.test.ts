/**
 * Browsers send the cookie of a login to every port of the host, so whatever a kernel serves on the machine's network
 * gets it from anybody who opens that. It is worth nothing there.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../../src/http/ui-files.ts'
import { ROOT } from '../../guard/source-files.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { logInBrowser, newBrowserKey, type BrowserLogin } from '../../support/servers/browser-login.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'

const LOG = 'what the program wrote\n'
const KEY = 'x-reprise-browser-key'

type Headers = Record<string, string>

let server: TestServer
let victim: BrowserLogin
let sessionId: string
let kernelId: string
/** The request of the victim's browser, as the web server of a kernel gets it. */
let stolen: string

beforeAll(async () => {
  server = await startGraphQLServer({
    ui: await readUiFiles(await bundleUi(ROOT)),
    introspectionForStrangers: false,
  })
  const session = await server.factory.session({ status: 'RUNNING' })
  sessionId = session.id
  kernelId = session.kernelIds[0]!
  const row = { kernel_id: kernelId, assignment: 1, stream: 'STDOUT', offset: 0, bytes: LOG.length, text: LOG }
  await insertRows(server.db, 'kernel_logs', [{ ...row, at: new Date() }])
  victim = await logInBrowser(server.url, `Bearer ${server.adminToken}`)
  stolen = await visitKernel(victim.cookie)
})
afterAll(() => server?.close())

/** The request that a browser sends to a program on another port whose page it opens. */
async function visitKernel(cookie: string): Promise<string> {
  const seen = Promise.withResolvers<string>()
  const kernel = createServer((request, response) => {
    seen.resolve(request.headers.cookie ?? '')
    response.end('<h1>results</h1>')
  }).listen(0, '127.0.0.1')
  await once(kernel, 'listening')
  await fetch(`http://127.0.0.1:${(kernel.address() as AddressInfo).port}/`, { headers: { cookie } })
  kernel.close()
  return seen.promise
}

/** All that the program can make up beside the cookie. */
function disguises(): [string, Headers][] {
  const secret = stolen.split('=')[1]!
  const pages = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', origin: server.url, referer: server.url }
  return [
    ['as it is', { cookie: stolen }],
    ['as of a page of the server', { cookie: stolen, ...pages }],
    ['with an empty key', { cookie: stolen, ...pages, [KEY]: '' }],
    ['with a key of its own', { cookie: stolen, ...pages, [KEY]: newBrowserKey() }],
    ['with the cookie as the key', { cookie: stolen, ...pages, [KEY]: secret.slice(4) }],
    ['under the name for TLS', { cookie: `__Host-${stolen}`, ...pages }],
    ['as a token', { authorization: `Bearer ${secret}` }],
    ['as a token with a key', { authorization: `Bearer ${secret}~${newBrowserKey()}` }],
    ['as what the server makes of it', { authorization: `Browser ${secret}` }],
    ['as what the server makes of it, with a key', { authorization: `Browser ${secret}~${newBrowserKey()}` }],
    ['as a code', { authorization: `Code ${secret}` }],
  ]
}

function ask(method: string, path: string, headers: Headers, body?: unknown): Promise<Response> {
  const own = { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
  return fetch(`${server.url}${path}`, {
    method,
    headers: own,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

const OPERATIONS: [string, string][] = [
  ['a query', '{ viewer { name } sessions(first: 1) { totalCount } }'],
  ['a token', 'mutation { createToken(input: { name: "planted", role: ADMIN }) { __typename } }'],
  ['a session', 'mutation { createSession(input: { name: "planted", command: ["true"] }) { __typename } }'],
]

async function planted(): Promise<unknown[]> {
  const { rows } = await server.db.query(
    `SELECT name FROM api_tokens WHERE name = 'planted' UNION ALL SELECT name FROM sessions WHERE name = 'planted'`,
  )
  return rows
}

describe('the cookie that a kernel has got is refused', () => {
  test('by GraphQL: queries, mutations, and subscriptions as event streams', async () => {
    for (const [how, headers] of disguises()) {
      for (const [what, query] of OPERATIONS) {
        expect([how, what, (await ask('POST', '/graphql', headers, { query })).status]).toEqual([how, what, 401])
      }
      const events = { ...headers, accept: 'text/event-stream' }
      const subscription = 'subscription { sessionEvents { cursor } }'
      expect([how, (await ask('POST', '/graphql', events, { query: subscription })).status]).toEqual([how, 401])
      for (const query of ['{ viewer { name } }', subscription]) {
        const path = `/graphql?query=${encodeURIComponent(query)}`
        const asked = { ...events, 'x-graphql-yoga-csrf': '1' }
        expect([how, (await ask('GET', path, asked)).status]).toEqual([how, 401])
      }
    }
    expect(await planted()).toEqual([])
  })

  test('by every path of the REST API, downloads and event streams among them', async () => {
    const document = (await (await fetch(`${server.url}/v2/openapi.json`)).json()) as { paths: Record<string, object> }
    const paths = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), pathFor(path)] as const),
    )
    expect(paths).toContainEqual(['GET', `/v2/kernels/${kernelId}/log`])
    expect(paths).toContainEqual(['GET', '/v2/events'])
    expect(paths.length).toBeGreaterThan(30)
    const telling = ['with a key of its own', 'as a token']
    const some = [`/v2/kernels/${kernelId}/log`, '/v2/events', '/v2/sessions', '/metrics']
    for (const [how, headers] of disguises()) {
      for (const [method, path] of [...paths, ['GET', '/metrics'] as const]) {
        if (!telling.includes(how) && !some.includes(path)) continue
        const body = method === 'GET' ? undefined : {}
        const response = await ask(method, path, headers, body)
        expect([how, method, path, response.status]).toEqual([how, method, path, 401])
        expect(await response.text()).not.toContain(LOG.trim())
      }
    }
    expect(await planted()).toEqual([])
  })

  test('where browsers log in and out, and get links', async () => {
    for (const [how, headers] of disguises()) {
      const withKey = { ...headers, [KEY]: headers[KEY] || newBrowserKey() }
      expect([how, (await ask('POST', '/ui/session', withKey)).status]).toEqual([how, 401])
      expect([how, (await ask('DELETE', '/ui/session', headers)).status]).toEqual([how, 401])
      expect([how, (await ask('POST', '/ui/code', headers)).status]).toEqual([how, 401])
      const link = `/ui/link?to=/v2/kernels/${kernelId}/log`
      expect([how, (await ask('POST', link, headers)).status]).toEqual([how, 401])
    }
    expect((await ask('GET', '/v2/sessions', victim.headers)).status).toBe(200)
  })

  test('by WebSockets: subscriptions, commands and connections into kernels', async () => {
    const secret = stolen.split('=')[1]!
    const payloads = [
      undefined,
      {},
      { browserKey: newBrowserKey() },
      { browserKey: secret.slice(4) },
      { authorization: `Bearer ${secret}` },
      { authorization: `Browser ${secret}` },
      { authorization: `Browser ${secret}`, browserKey: newBrowserKey() },
    ]
    for (const [how, headers] of disguises()) {
      for (const payload of payloads) {
        expect([how, payload, await closeCodeOf(headers, payload)]).toEqual([how, payload, 4401])
      }
      for (const path of ['exec', 'connect?port=80', 'exec?check=true']) {
        expect([how, path, await upgradeStatusOf(path, headers)]).toEqual([how, path, 401])
      }
    }
  })

  test('though its own login has a key: the two do not fit', async () => {
    const token = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID, name: 'attacker' })
    const attacker = await logInBrowser(server.url, `Bearer ${token}`)
    const both = `${stolen}; ${attacker.cookie}`
    for (const cookie of [both, `${attacker.cookie}; ${stolen}`, stolen]) {
      const response = await ask('POST', '/graphql', { ...attacker.headers, cookie }, { query: '{ viewer { name } }' })
      const { data } = (await response.json()) as { data?: { viewer: { name: string } } }
      expect(data?.viewer.name).toBe(cookie === stolen ? undefined : 'attacker')
    }
  })
})

describe('a cookie that another port has set', () => {
  test('gives nobody another identity: the browser is logged out at most', async () => {
    const token = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID, name: 'attacker' })
    const attacker = await logInBrowser(server.url, `Bearer ${token}`)
    const nameOf = async (headers: Headers) => {
      const response = await ask('POST', '/graphql', headers, { query: '{ viewer { name } }' })
      const { data } = (await response.json()) as { data?: { viewer: { name: string } } | null }
      return data?.viewer.name ?? response.status
    }
    // It takes the place of the victim's own.
    expect(await nameOf({ ...victim.headers, cookie: attacker.cookie })).toBe(401)
    // It stands beside it, as one for a longer path does.
    const own = await nameOf(victim.headers)
    expect(await nameOf({ ...victim.headers, cookie: `${attacker.cookie}; ${victim.cookie}` })).toBe(own)
    // It was there before the login, which neither takes it over nor its key.
    const before = attacker.cookie
    const key = newBrowserKey()
    const authorization = `Bearer ${server.adminToken}`
    const login = await ask('POST', '/ui/session', { authorization, cookie: before, [KEY]: key })
    expect(login.headers.getSetCookie()[0]).not.toContain(before)
    expect(await nameOf({ ...attacker.headers, [KEY]: key })).toBe(401)
  })
})

describe('links for downloads', () => {
  const linkOf = async (path: string, headers: Headers) => {
    const response = await ask('POST', `/ui/link?to=${encodeURIComponent(path)}`, headers)
    return { status: response.status, ...((await response.json()) as { link?: string; code?: string }) }
  }
  const log = () => `/v2/kernels/${kernelId}/log`
  /** The request of the browser: with its cookie, and without a key. */
  const follow = (link: string) =>
    ask('GET', link, { cookie: victim.cookie, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' })

  test('open their path once, for browsers that send no key', async () => {
    expect((await follow(log())).status).toBe(401)
    const { link } = await linkOf(log(), victim.headers)
    // Looks that are not the download leave it as it is.
    expect((await ask('HEAD', link!, {})).status).toBe(401)
    expect((await ask('POST', link!, {})).status).toBe(401)
    const response = await follow(link!)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; /)
    expect(await response.text()).toBe(LOG)
    const again = await follow(link!)
    expect(again.status).toBe(401)
    expect(await again.json()).toMatchObject({ detail: expect.stringContaining('has been used') })
    const atOnce = (await linkOf(`${log()}?stream=stdout`, victim.headers)).link!
    const answers = await Promise.all([1, 2, 3].map(() => follow(atOnce)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401])
  })

  test('open no other path', async () => {
    const { link } = await linkOf(log(), victim.headers)
    const [, code] = link!.split('link=')
    const others = [`${log()}?stream=stderr&link=`, `${log()}/follow?link=`, '/v2/sessions?link=', '/v2/events?link=']
    for (const other of others) expect((await follow(other + code)).status).toBe(401)
    for (const authorization of [`Bearer ${code}`, `Code ${code}`, `Link ${code}`])
      expect((await ask('GET', log(), { authorization })).status).toBe(401)
    const query = encodeURIComponent('{ viewer { name } }')
    expect((await ask('GET', `/graphql?query=${query}&link=${code}`, { 'x-graphql-yoga-csrf': '1' })).status).toBe(401)
    expect((await follow(link!)).status).toBe(200)
  })

  test('are good for downloads, and for nothing else', async () => {
    const paths = ['', '/', '/v2/sessions', '/graphql', `${log()}/follow`, `${log()}?a=b`, `//evil.example${log()}`]
    for (const path of paths)
      expect(await linkOf(path, victim.headers)).toMatchObject({ status: 404, code: 'NO_SUCH_PATH' })
  })

  test('end after a minute, and with the login', async () => {
    const first = (await linkOf(log(), victim.headers)).link!
    await server.db.query(`UPDATE download_links SET expires_at = reprise_now()`)
    expect((await follow(first)).status).toBe(401)
    const other = await logInBrowser(server.url, `Bearer ${server.adminToken}`)
    const second = (await linkOf(log(), other.headers)).link!
    expect((await ask('DELETE', '/ui/session', other.headers)).status).toBe(204)
    expect((await follow(second)).status).toBe(401)
  })

  test('have the rights of their login', async () => {
    const projectId = await server.factory.project()
    const token = await server.factory.token({ role: 'VIEWER', projectId })
    const stranger = await logInBrowser(server.url, `Bearer ${token}`)
    expect((await follow((await linkOf(log(), stranger.headers)).link!)).status).toBe(404)
  })

  test('are stored as hashes alone, and no more than the newest sixteen of a browser', async () => {
    const login = await logInBrowser(server.url, `Bearer ${server.adminToken}`)
    const links: string[] = []
    for (let n = 0; n < 20; n++) links.push((await linkOf(log(), login.headers)).link!)
    const { rows } = await server.db.query<{ row: string }>(
      `SELECT to_jsonb(l)::text AS row FROM download_links l JOIN api_tokens t ON t.id = l.token_id
       WHERE t.hash = sha256(convert_to($1, 'UTF8'))`,
      [`${login.cookie.split('=')[1]}~${login.key}`],
    )
    expect(rows).toHaveLength(16)
    for (const link of links) expect(JSON.stringify(rows)).not.toContain(link.split('link=')[1])
    expect((await follow(links[0]!)).status).toBe(401)
    expect((await follow(links.at(-1)!)).status).toBe(200)
  })
})

function pathFor(template: string): string {
  return template
    .replace('/kernels/{id}', `/kernels/${kernelId}`)
    .replace('/sessions/{id}', `/sessions/${sessionId}`)
    .replaceAll(/\{\w+\}/g, sessionId)
}

async function closeCodeOf(headers: Headers, payload: object | undefined): Promise<number> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
  await once(socket, 'open')
  const ended = Promise.race([
    once(socket, 'close').then(([code]) => code as number),
    once(socket, 'message').then(([data]) => Promise.reject(new Error(String(data)))),
  ])
  socket.send(JSON.stringify({ type: 'connection_init', payload }))
  return ended
}

async function upgradeStatusOf(path: string, headers: Headers): Promise<number> {
  const url = `${server.url.replace('http', 'ws')}/v2/sessions/${sessionId}/${path}`
  const socket = new WebSocket(url, { headers })
  const { promise, resolve } = Promise.withResolvers<number>()
  socket.once('open', () => resolve(101))
  socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode!))
  socket.on('error', () => {})
  const status = await promise
  socket.terminate()
  return status
}
