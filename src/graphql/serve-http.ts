import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendNodeResponse } from '@whatwg-node/server'
import { ERRORS, RepriseError } from '../domain/errors.ts'
import { REQUEST_BYTES_MAX } from './limits.ts'
import { readWhole } from './read-whole.ts'
import type { GraphQLServer } from './server.ts'
import { wholeRequests } from './whole-request.ts'

/** Yoga copies a server context property by property, so there is none: the request itself carries what is needed. */
const NO_CONTEXT = undefined!

type ServeHttp = (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<void>

/**
 * Serves Node's requests through a server that takes requests of the Fetch API. A POST is read completely first, and
 * its response is sent with one write: streaming both costs a third more CPU per request. Event streams are streamed.
 */
export function createServeHttp(server: GraphQLServer): ServeHttp {
  const newWholeRequest = wholeRequests(server.fetchAPI)
  const urlOf = urlParser()

  async function servePost(
    request: IncomingMessage,
    response: ServerResponse,
    { url, requestId }: { url: URL; requestId: string },
  ): Promise<void> {
    const body = await readWhole(request, REQUEST_BYTES_MAX)
    if (body === null) return
    const gone = new AbortController()
    const abort = () => gone.abort()
    response.once('close', abort)
    const whole = newWholeRequest(request, { url, body, signal: gone.signal, requestId })
    const answer = await server.handleRequest(whole, NO_CONTEXT)
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      response.once('finish', () => response.off('close', abort))
      await sendNodeResponse(answer, response, request, false)
      return
    }
    const text = await answer.text()
    if (response.destroyed) return
    response.off('close', abort)
    response.setHeaders(answer.headers)
    response.writeHead(answer.status, { 'Content-Length': Buffer.byteLength(text) })
    response.end(text)
  }

  return async (request, response, requestId) => {
    try {
      const url = urlOf(request)
      if (request.method === 'POST') await servePost(request, response, { url, requestId })
      else await server(request, response, { requestId })
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error
      refuse(response, error)
    }
  }
}

/** Remembers the last URL: almost all requests have the same one. */
function urlParser(): (request: IncomingMessage) => URL {
  let last = new URL('http://localhost')
  let lastText = last.href
  return ({ headers: { host = 'localhost' }, url }) => {
    const text = `http://${host}${url}`
    if (text === lastText) return last
    const parsed = URL.parse(text)
    if (!parsed) throw new RepriseError('MALFORMED_REQUEST', 'The Host header or the path of the request is invalid.')
    lastText = text
    return (last = parsed)
  }
}

function refuse(response: ServerResponse, { code, message }: RepriseError): void {
  const text = JSON.stringify({ errors: [{ message, extensions: { code } }] })
  response.writeHead(ERRORS[code].httpStatus, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  })
  response.end(text)
}
