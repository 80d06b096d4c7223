/** The web UI and GraphiQL over HTTP: which paths have it, what browsers may do with it and keep of it. */
import { request, type IncomingHttpHeaders } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { findGraphiQL } from '../../../src/http/graphiql-files.ts'
import { readUiFiles } from '../../../src/http/ui-files.ts'
import { ROOT } from '../../guard/source-files.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

const PAGE = { accept: 'text/html' }

let server: TestServer
let script: string
let editor: string

beforeAll(async () => {
  const bundle = await bundleUi(ROOT)
  server = await startGraphQLServer({ ui: await readUiFiles(bundle), graphiql: await findGraphiQL(bundle) })
  script = /href="(\/assets\/program-[^"]+\.js)"/.exec((await ask('/')).text)![1]!
  editor = / src="(\/graphiql\/[^"]+\.js)"/.exec((await ask('/graphql', PAGE)).text)![1]!
})
afterAll(() => server?.close())

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
}

/** The answer as it is sent, before a client decodes it. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET', url = server.url): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const body = Buffer.concat(chunks)
        resolve({ status: response.statusCode!, headers: response.headers, body, text: body.toString() })
      })
    })
    asked.on('error', reject).end()
  })
}

describe('pages', () => {
  test.each(['/', '/login', '/chains', '/chains/0198c0de-0000-7000-8000-000000000000', '/chains?state=failed'])(
    '%s is the page that loads the program, kept by nobody',
    async (path) => {
      const { status, headers, text } = await ask(path)
      expect(status).toBe(200)
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['cache-control']).toBe('no-store')
      expect(text).toContain('<div id="root">')
    },
  )

  test('allow only content of the server itself', async () => {
    const { headers, text } = await ask('/chains')
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    )
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['referrer-policy']).toBe('no-referrer')
    expect(headers['x-frame-options']).toBe('DENY')
    expect(headers['cross-origin-opener-policy']).toBe('same-origin')
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/)
  })

  test('come in the theme that was chosen, and never in one that was made up', async () => {
    const themeFor = async (cookie: string) => /data-theme="([^"]*)"/.exec((await ask('/', { cookie })).text)![1]
    expect(await themeFor('reprise_theme=dark')).toBe('dark')
    expect(await themeFor('a=b; reprise_theme=light')).toBe('light')
    expect(await themeFor('reprise_theme="><script>alert(1)</script>')).toBe('system')
    expect(await themeFor('reprise_theme=constructor')).toBe('system')
    expect(await themeFor('other=dark')).toBe('system')
  })

  test('are not sent again as long as they are the same', async () => {
    const first = await ask('/chains')
    const again = await ask('/chains', { 'if-none-match': first.headers.etag! })
    expect(again).toMatchObject({ status: 304, text: '' })
    const dark = await ask('/chains', { 'if-none-match': first.headers.etag!, cookie: 'reprise_theme=dark' })
    expect(dark.status).toBe(200)
  })

  test('name their own parts, and no parts of other pages', async () => {
    const { text } = await ask('/chains?state=failed')
    const named = [
      ...text.matchAll(/(?:<link rel="stylesheet" crossorigin href|<script type="module" crossorigin src)="([^"]+)">/g),
    ]
    expect(named.map(([, file]) => file).filter((file) => file!.includes('-page-'))).toEqual([
      expect.stringMatching(/^\/assets\/chains-page-.*\.js$/),
      expect.stringMatching(/^\/assets\/chains-page-.*\.css$/),
    ])
    for (const [, file] of named) expect(await ask(file!)).toMatchObject({ status: 200 })
  })

  test('are only read', async () => {
    const { status, headers } = await ask('/chains', {}, 'POST')
    expect(status).toBe(405)
    expect(headers.allow).toBe('GET, HEAD')
    expect(await ask('/chains', {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
  })
})

describe('assets', () => {
  test('are made for use, whatever environment they are made in', async () => {
    expect((await ask(script)).text).not.toContain('jsxDEV')
  })

  test('are cached for a year, since their names change with their content', async () => {
    const { status, headers } = await ask(script)
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
  })

  test('come compressed as the browser asks', async () => {
    const plain = await ask(script)
    const brotli = await ask(script, { 'accept-encoding': 'gzip, deflate, br, zstd' })
    expect(brotli.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true)
    const gzip = await ask(script, { 'accept-encoding': 'gzip' })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true)
    expect(brotli.headers.vary).toBe('Accept-Encoding')
    expect(await ask(script, {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
  })
})

test.each([
  '/chain',
  '/chains/',
  '/chains/a/b',
  '/assets',
  '/assets/',
  '/assets/none.js',
  '/assets/../index.html',
  '/assets/..%2fpaths.json',
  '/assets/%2e%2e/paths.json',
  '/paths.json',
  '/index.html',
  '/%00',
])('%s is nothing', async (path) => {
  const { status, text } = await ask(path)
  expect({ status, text }).toEqual({ status: 404, text: 'Not found\n' })
})

test.each(['/nowhere', '/chains/a/b', '/assets/none.js'])(
  '%s is the page in a browser, which says that there is nothing, and still 404',
  async (path) => {
    const { status, headers, text } = await ask(path, { accept: 'text/html,*/*', cookie: 'reprise_theme=dark' })
    expect(status).toBe(404)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(text).toContain('data-theme="dark"')
    const again = await ask(path, { accept: 'text/html', 'if-none-match': headers.etag! })
    expect(again.status).toBe(404)
    expect((await ask('/v2/nowhere', { accept: 'text/html' })).text).not.toContain('<div id="root">')
  },
)

test('the compressed copy of a file is not served as a file', async () => {
  expect((await ask(`${script}.br`)).status).toBe(404)
})

test('the paths of the API are the API', async () => {
  expect((await ask('/graphql', { accept: 'application/json' })).text).not.toContain('<div id="root">')
  expect((await ask('/v2/sessions')).status).toBe(401)
  expect((await ask('/metrics')).status).toBe(401)
  expect((await ask('/healthz')).text).toBe('{"status":"ok"}\n')
})

test('every answer names the build, so that pages find out that they are old', async () => {
  const paths = ['/', script, '/graphql', '/v2/sessions', '/healthz', '/nothing']
  const builds = await Promise.all(paths.map(async (path) => (await ask(path)).headers['x-reprise-build']))
  expect(builds[0]).toMatch(/^[0-9a-f]{16}$/)
  expect(new Set(builds).size).toBe(1)
})

describe('without a web UI', () => {
  test('the address explains how to get one; if it is switched off, it does not', async () => {
    await using unbundled = closing(await startGraphQLServer())
    expect((await ask('/', {}, 'GET', unbundled.url)).text).toContain('This server has no web UI')
    await using off = closing(await startGraphQLServer({ ui: null }))
    const { status, headers, text } = await ask('/', {}, 'GET', off.url)
    expect(status).toBe(200)
    expect(text).toContain('Compute sessions that retry themselves')
    expect(text).not.toContain('has no web UI')
    expect(headers['x-reprise-build']).toBeUndefined()
    expect((await ask('/chains', {}, 'GET', off.url)).status).toBe(404)
  })
})

function closing(started: TestServer): TestServer & AsyncDisposable {
  return { ...started, [Symbol.asyncDispose]: () => started.close() }
}

describe('GraphiQL', () => {
  test('is a short page that loads only its own files, keeps no headers and can be in no frame', async () => {
    const { status, headers, text } = await ask('/graphql', PAGE)
    expect([status, headers['cache-control']]).toEqual([200, 'no-cache'])
    expect(text.length).toBeLessThan(2_000)
    expect(headers['content-security-policy']).toMatch(/script-src 'self';.*frame-ancestors 'none'/)
    expect(text.match(/<script[^>]*>./g)).toEqual([`<script defer src="${editor}"><`])
    const program = gunzipSync((await ask(editor)).body).toString()
    expect(program).toMatch(/"shouldPersistHeaders":false/)
  })

  test('has files that are only sent compressed, and that browsers keep', async () => {
    const unasked = await ask(editor)
    expect(unasked.headers).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': expect.stringMatching('immutable'),
    })
    const plain = gunzipSync(unasked.body)
    const packed = await ask(editor, { 'accept-encoding': 'gzip, br, zstd' })
    expect(packed.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(packed.body).equals(plain)).toBe(true)
    const refused = await ask(editor, { 'accept-encoding': 'identity' })
    expect([refused.status, refused.text]).toEqual([406, expect.stringMatching(/"Accept-Encoding: gzip"/)])
    const known = await ask(editor, { 'if-none-match': String(unasked.headers.etag) })
    expect([known.status, known.body.length]).toEqual([304, 0])
    expect((await ask('/graphiql/nothing.js')).status).toBe(404)
    expect((await ask('/graphiql/..%2f..%2findex.html')).status).toBe(404)
  })

  test('that has not been bundled: the page says so', async () => {
    const bare = await startGraphQLServer()
    onTestFinished(() => bare.close())
    const { status, text } = await ask('/graphql', PAGE, 'GET', bare.url)
    expect([status, text]).toEqual([200, expect.stringMatching(/no GraphiQL.*npm start/)])
  })
})
