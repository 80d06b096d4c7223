import { Readable } from 'node:stream'
import request from 'undici/lib/api/api-request.js'
import errors from 'undici/lib/core/errors.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import { ConnectError, type ConnectionError, ConnectionLostError, ReadTimeoutError } from '../errors.ts'
import type { Timeouts } from '../settings.ts'
import type { HttpAnswer, HttpRequest, Transport } from './transport.ts'

/**
 * Sends requests by undici, which distinguishes a connection that was never made from one that broke. Idle sockets do
 * not keep the process running. Only the needed parts of undici are loaded: all of it would take a fifth of a command's
 * start.
 */
export function createUndiciTransport({ connectSeconds, readSeconds }: Timeouts): Transport {
  const agent = new Agent({
    connect: { timeout: milliseconds(connectSeconds) },
    headersTimeout: milliseconds(readSeconds),
    bodyTimeout: milliseconds(readSeconds),
  })

  async function send({ url, method, headers, body: given, signal }: HttpRequest): Promise<HttpAnswer> {
    signal?.throwIfAborted()
    let began = false
    try {
      const { origin } = url
      const path = `${url.pathname}${url.search}`
      const body = typeof given === 'function' ? Readable.from(given(), { objectMode: false }) : given
      const answer = await request.call(agent, { origin, path, method, headers, body, signal })
      began = true
      const header = (name: string) => [answer.headers[name]].flat()[0] ?? null
      return {
        status: answer.statusCode,
        contentType: header('content-type') ?? '',
        retryAfter: header('retry-after'),
        requestId: header('x-request-id'),
        location: header('location'),
        text: await answer.body.text(),
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw asConnectionError(error as NodeJS.ErrnoException, url.origin, began)
    }
  }

  return { send, close: () => agent.destroy() }
}

/** Converts seconds to milliseconds. For undici, 0 means no limit. */
function milliseconds(seconds: number | null): number {
  return (seconds ?? 0) * 1000
}

/** Errors before the connection was made, when nothing has been sent. */
const BEFORE_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
])

function asConnectionError(error: NodeJS.ErrnoException, origin: string, began: boolean): ConnectionError {
  if (error instanceof errors.ConnectTimeoutError) {
    return new ConnectError('CONNECT_TIMEOUT', `no connection to ${origin} in time`, error)
  }
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return new ReadTimeoutError(`${origin} was silent for too long`, error)
  }
  if (error.syscall === 'connect' || error.syscall === 'getaddrinfo' || BEFORE_CONNECTED.has(error.code ?? '')) {
    return new ConnectError('CONNECT_FAILED', `no connection to ${origin}: ${error.code ?? error.message}`, error)
  }
  if (began) return new ConnectionLostError('BODY_CUT_OFF', `${origin} broke off its response`, error)
  return new ConnectionLostError('CONNECTION_LOST', `the connection to ${origin} broke`, error)
}
