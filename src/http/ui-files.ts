import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { cookieOf, pathOf } from './http-messages.ts'
import { createRouteTable, OTHER, type ServedRoute } from './route-table.ts'
import { onlyRead, type SendStatic, staticAnswer } from './static-answer.ts'

/** The bundled web UI, served from memory; it has less than a megabyte. */
export interface UiFiles {
  /** Id of the bundle: a page that was loaded from another build is out of date. */
  readonly build: string
  readonly routes: readonly ServedRoute[]
  /** The GraphQL documents that the UI sends, by their SHA-256. */
  readonly documents: ReadonlyMap<string, string>
  /** @returns false if the UI has nothing at the path of the request */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void> | false
  /** Sends the page for a path that does not exist, with status 404. */
  answerUnknown(request: IncomingMessage, response: ServerResponse): Promise<void>
}

const ASSETS = '/assets/'
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}
/** Suffixes of compressed files beside the plain ones, in order of preference. */
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

/** Name of the cookie that the page sets, so that the next page has the right colours at once. */
const THEME_COOKIE = 'reprise_theme'
const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const THEME_ATTRIBUTE = 'data-theme="system"'
const HEAD_END = '</head>'

/** Reads the bundle. @throws Error if the directory holds no bundle */
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
  // The page names all other files by the hashes of their contents.
  const build = hashOf(page)
  const pages = new Map(
    Object.entries(JSON.parse(paths) as Record<string, string[]>).map(([path, loaded]) => [
      path.replaceAll(/\$(\w+)/g, '{$1}'),
      inEachTheme(page.replace(HEAD_END, () => loaded.map(linkTo).join('') + HEAD_END)),
    ]),
  )
  const unknown = inEachTheme(page, 404)
  const routes = [...pages.keys()].map((path) => ({ method: 'GET', path }))
  const table = createRouteTable(routes)

  const assets = new Map(
    [...files.keys()].filter((path) => extname(path) in TYPES).map((path) => [path, assetAnswer(files, path)]),
  )

  function find(request: IncomingMessage): SendStatic | undefined {
    const path = pathOf(request)
    const route = table.routeOf(path)
    if (route === OTHER) return assets.get(path)
    return pages.get(route)![themeOf(request)]
  }

  return {
    build,
    documents: new Map(Object.entries(JSON.parse(documents) as Record<string, string>)),
    routes: [...routes, { method: 'GET', path: `${ASSETS}{file}` }],
    answer(request, response) {
      const send = find(request)
      return send !== undefined && onlyRead(send)(request, response)
    },
    answerUnknown: (request, response) => unknown[themeOf(request)](request, response),
  }
}

function themeOf(request: IncomingMessage): Theme {
  return THEMES.find((each) => each === cookieOf(request, THEME_COOKIE)) ?? 'system'
}

function assetAnswer(files: ReadonlyMap<string, Buffer>, path: string): SendStatic {
  const kept = Object.entries(SUFFIXES).filter(([, suffix]) => files.has(path + suffix))
  return staticAnswer({
    read: () => files.get(path)!,
    compressed: Object.fromEntries(kept.map(([encoding, suffix]) => [encoding, () => files.get(path + suffix)!])),
    // The name of the file changes with its content.
    tag: `"${path.slice(ASSETS.length)}"`,
    headers: { 'Content-Type': TYPES[extname(path)]!, 'Cache-Control': 'public, max-age=31536000, immutable' },
  })
}

function inEachTheme(page: string, status?: number): Record<Theme, SendStatic> {
  const served = (theme: Theme): SendStatic => {
    const text = page.replace(THEME_ATTRIBUTE, `data-theme="${theme}"`)
    return staticAnswer({
      read: () => Buffer.from(text),
      tag: `"${hashOf(text)}"`,
      ...(status !== undefined && { status }),
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-store',
        'Content-Security-Policy': POLICY,
        'Cross-Origin-Opener-Policy': 'same-origin',
      },
    })
  }
  return { system: served('system'), light: served('light'), dark: served('dark') }
}

/** Creates the tag that loads the code of a page together with the main program, not after it. */
function linkTo(file: string): string {
  return extname(file) === '.css'
    ? `<link rel="stylesheet" crossorigin href="${file}">`
    : `<script type="module" crossorigin src="${file}"></script>`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
