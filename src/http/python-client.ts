import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pathOf } from './http-messages.ts'
import type { ServedRoute } from './route-table.ts'
import { onlyRead, type SendStatic, staticAnswer } from './static-answer.ts'

const PREFIX = '/clients/python/'
const PROJECT = 'reprise-client'

/** The wheel of the Python client, served from memory without a token, and pages that pip reads (PEP 503). */
export interface PythonClient {
  readonly routes: readonly ServedRoute[]
  /** @returns false if there is nothing at the path of the request */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void> | false
}

/** Reads the wheel of a directory; undefined if there is none. */
export async function findPythonClient(directory: string): Promise<PythonClient | undefined> {
  const names = await readdir(directory).catch(() => [])
  const name = names.find((each) => each.endsWith('.whl'))
  if (name === undefined) return undefined
  const wheel = await readFile(join(directory, name))
  const sha256 = createHash('sha256').update(wheel).digest('hex')
  const link = `<a href="${PREFIX}${name}#sha256=${sha256}" data-requires-python="&gt;=3.9">${name}</a>`
  const answers = new Map<string, SendStatic>([
    [PREFIX, page(`<a href="${PREFIX}${PROJECT}/">${PROJECT}</a> ${link}`)],
    [`${PREFIX}${PROJECT}/`, page(link)],
    [
      PREFIX + name,
      staticAnswer({
        read: () => wheel,
        tag: `"${sha256}"`,
        headers: { 'Content-Type': 'application/zip', 'Cache-Control': 'no-cache' },
      }),
    ],
    [`${PREFIX}${PROJECT}.whl`, redirect(PREFIX + name)],
    [PREFIX.slice(0, -1), redirect(PREFIX)],
    [`${PREFIX}${PROJECT}`, redirect(`${PREFIX}${PROJECT}/`)],
  ])
  return {
    routes: [...answers.keys()].map((path) => ({ method: 'GET', path })),
    answer(request, response) {
      const send = answers.get(pathOf(request))
      return send !== undefined && onlyRead(send)(request, response)
    },
  }
}

function page(links: string): SendStatic {
  return staticAnswer({
    read: () => Buffer.from(`<!doctype html>\n<html lang="en"><title>${PROJECT}</title><body>${links}</body></html>\n`),
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache' },
  })
}

/** Redirects to a path of the same server. */
function redirect(to: string): SendStatic {
  return (_, response) => {
    response.writeHead(302, { Location: to, 'Cache-Control': 'no-cache', 'Content-Length': 0 }).end()
    return Promise.resolve()
  }
}
