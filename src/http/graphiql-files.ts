import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { pathOf } from './http-messages.ts'
import type { ServedRoute } from './route-table.ts'
import { onlyRead, type SendStatic, staticAnswer } from './static-answer.ts'

/** Name in the bundle of the web UI. */
export const GRAPHIQL_DIRECTORY = 'graphiql'
export const GRAPHIQL_PAGE = 'index.html'
/** Path of the files that the page loads. */
export const GRAPHIQL_PREFIX = '/graphiql/'

/**
 * GraphiQL, served without a token. The page is short; its editor has 1.4 MB even compressed. Files are read at their
 * first request.
 */
export interface GraphiQL {
  readonly sendPage: SendStatic
  readonly routes: readonly ServedRoute[]
  /** @returns false if it has no file at the path of the request */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void> | false
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** The editor creates styles. The style sheet contains its fonts. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self' ws: wss:",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Returns undefined if the bundle has no GraphiQL. */
export async function findGraphiQL(bundle: string): Promise<GraphiQL | undefined> {
  const directory = join(bundle, GRAPHIQL_DIRECTORY)
  const names: string[] = await readdir(directory).catch(() => [])
  if (!names.includes(GRAPHIQL_PAGE)) return undefined
  const files = new Map(
    names.flatMap((name) => {
      const file = name.replace(/\.gz$/, '')
      return file === name ? [] : [[GRAPHIQL_PREFIX + file, fileAnswer(directory, file)]]
    }),
  )
  return {
    sendPage: staticAnswer({
      read: () => readFile(join(directory, GRAPHIQL_PAGE)),
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': POLICY,
      },
    }),
    routes: [{ method: 'GET', path: `${GRAPHIQL_PREFIX}{file}` }],
    answer(request, response) {
      const send = files.get(pathOf(request))
      return send !== undefined && onlyRead(send)(request, response)
    },
  }
}

function fileAnswer(directory: string, file: string): SendStatic {
  return staticAnswer({
    compressed: {
      br: () => readFile(join(directory, `${file}.br`)),
      gzip: () => readFile(join(directory, `${file}.gz`)),
    },
    tag: `"${file}"`,
    headers: { 'Content-Type': TYPES[extname(file)]!, 'Cache-Control': 'public, max-age=31536000, immutable' },
  })
}
