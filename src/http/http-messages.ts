import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

const REQUEST_ID = /^[\w.:-]{8,128}$/

/** Returns the path of the request without its query. */
export function pathOf({ url }: IncomingMessage): string {
  return url!.split('?', 1)[0]!
}

/**
 * Returns the value of the first cookie with this name. The other cookies are not parsed: the header may have 16 kB.
 */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const { cookie = '' } = headers
  for (let at = cookie.indexOf(`${name}=`); at >= 0; at = cookie.indexOf(`${name}=`, at + 1)) {
    if (at > 0 && cookie[at - 1] !== ' ' && cookie[at - 1] !== ';') continue
    const end = cookie.indexOf(';', at)
    return cookie.slice(at + name.length + 1, end < 0 ? undefined : end).trim()
  }
  return undefined
}

/**
 * Returns the fault of the Host header, or null. RFC 9112 (3.2) demands status 400 if there are several, because a
 * proxy may have used another one than this server, and if an HTTP/1.1 request has none.
 */
export function hostFault({ rawHeaders, httpVersion }: IncomingMessage): string | null {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) return 'More than one Host header'
  return hosts === 0 && httpVersion === '1.1' ? 'No Host header' : null
}

/**
 * Returns the request id of a proxy or client if it is well-formed, so that both logs refer to the same request;
 * otherwise a new one.
 */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** Sets the headers of every response: no framing, no sniffing, no referrer. */
export function setSafeHeaders(response: ServerResponse, requestId: string): void {
  response.setHeader('X-Request-Id', requestId)
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('X-Frame-Options', 'DENY')
  response.setHeader('Content-Security-Policy', "frame-ancestors 'none'")
  response.setHeader('Referrer-Policy', 'no-referrer')
  response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
}

export function respond(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  })
  response.end(body)
}
