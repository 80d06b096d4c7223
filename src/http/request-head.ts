import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

const REQUEST_ID = /^[\w.:-]{8,128}$/

/** The path of the request, without its query. */
export function pathOf({ url }: IncomingMessage): string {
  return url!.split('?', 1)[0]!
}

/** The value of the first cookie of this name. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = headers.cookie?.split(';').map((pair) => pair.trim()) ?? []
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** RFC 9112 (3.2) demands 400: a proxy may have gone by the other one. */
export function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/** Uses the request id of a proxy or client, if it is well-formed, so that both logs refer to the same request. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** Headers of every response: nothing may be framed, sniffed or leaked through a referrer. */
export function setSafeHeaders(response: ServerResponse, requestId: string): void {
  response.setHeader('X-Request-Id', requestId)
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('X-Frame-Options', 'DENY')
  response.setHeader('Content-Security-Policy', "frame-ancestors 'none'")
  response.setHeader('Referrer-Policy', 'no-referrer')
  response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
}
