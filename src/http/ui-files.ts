import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { acceptedEncoding } from './compression.ts'
import { cookieOf, pathOf } from './request-head.ts'
import { respond } from './respond.ts'
import { createRouteTable, OTHER, type ServedRoute } from './route-table.ts'

/** The web UI as it was bundled, served from memory: less than a megabyte. */
export interface UiFiles {
  /** Names what is served: a page that was loaded under another one is out of date. */
  readonly build: string
  readonly routes: readonly ServedRoute[]
  /** What it sends, by its SHA-256. */
  readonly documents: ReadonlyMap<string, string>
  /** @returns false if it has nothing at the path of the request */
  answer(request: IncomingMessage, response: ServerResponse): boolean
}

const ASSETS = '/assets/'
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}
/** Of files that are kept beside the plain ones, in order of preference. */
const SUFFIXES: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** The page sets it, so that its next one is painted in the right colours at once. */
const THEME_COOKIE = 'reprise_theme'
const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const THEME_ATTRIBUTE = 'data-theme="system"'
const HEAD_END = '</head>'

/** A page as it is sent. */
interface Served {
  text: string
  tag: string
}

/** @throws Error if the directory holds no bundle */
export async function readUiFiles(directory: string): Promise<UiFiles> {
  const [page, paths, documents, names] = await Promise.all([
    readFile(join(directory, 'index.html'), 'utf8'),
    readFile(join(directory, 'paths.json'), 'utf8'),
    readFile(join(directory, 'documents.json'), 'utf8'),
    readdir(join(directory, 'assets')),
  ])
  if (!page.includes(THEME_ATTRIBUTE)) throw new Error(`${directory}/index.html has no ${THEME_ATTRIBUTE}`)
  const files = new Map<string, Buffer>()
  await Promise.all(
    names.map(async (name) => files.set(ASSETS + name, await readFile(join(directory, 'assets', name)))),
  )
  // The page names all other files by the hashes of what they hold.
  const build = hashOf(page)
  const pages = new Map(
    Object.entries(JSON.parse(paths) as Record<string, string[]>).map(([path, loaded]) => [
      path.replaceAll(/\$(\w+)/g, '{$1}'),
      inEachTheme(page.replace(HEAD_END, () => loaded.map(linkTo).join('') + HEAD_END)),
    ]),
  )
  const routes = [...pages.keys()].map((path) => ({ method: 'GET', path }))
  const table = createRouteTable(routes)

  function answerPage(request: IncomingMessage, response: ServerResponse, route: string): void {
    const theme = THEMES.find((each) => each === cookieOf(request, THEME_COOKIE)) ?? 'system'
    const { text, tag } = pages.get(route)![theme]
    response.setHeader('Content-Security-Policy', POLICY)
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin')
    response.setHeader('ETag', tag)
    if (request.headers['if-none-match'] === tag) {
      response.writeHead(304, { 'Cache-Control': 'no-store' }).end()
    } else {
      respond(response, 200, 'text/html; charset=utf-8', text)
    }
  }

  function answerAsset(request: IncomingMessage, response: ServerResponse, path: string): void {
    const encodings = Object.keys(SUFFIXES).filter((name) => files.has(path + SUFFIXES[name]))
    const encoding = acceptedEncoding(request.headers['accept-encoding']?.toString(), encodings)
    const body = files.get(encoding === null ? path : path + SUFFIXES[encoding])!
    if (encoding !== null) response.setHeader('Content-Encoding', encoding)
    response.writeHead(200, {
      'Content-Type': TYPES[extname(path)]!,
      'Content-Length': body.length,
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }

  return {
    build,
    documents: new Map(Object.entries(JSON.parse(documents) as Record<string, string>)),
    routes: [...routes, { method: 'GET', path: `${ASSETS}{file}` }],
    answer(request, response) {
      const path = pathOf(request)
      const route = table.routeOf(path)
      const isPage = route !== OTHER
      if (!isPage && !(extname(path) in TYPES && files.has(path))) return false
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('Allow', 'GET, HEAD')
        respond(response, 405, 'text/plain', 'This is a page: GET it\n')
      } else if (isPage) {
        answerPage(request, response, route)
      } else {
        answerAsset(request, response, path)
      }
      return true
    },
  }
}

function inEachTheme(page: string): Record<Theme, Served> {
  const served = (theme: Theme): Served => {
    const text = page.replace(THEME_ATTRIBUTE, `data-theme="${theme}"`)
    return { text, tag: `"${hashOf(text)}"` }
  }
  return { system: served('system'), light: served('light'), dark: served('dark') }
}

/** What a page is made of is loaded beside the program, and run right after it, not once it is asked for. */
function linkTo(file: string): string {
  return extname(file) === '.css'
    ? `<link rel="stylesheet" crossorigin href="${file}">`
    : `<script type="module" crossorigin src="${file}"></script>`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
