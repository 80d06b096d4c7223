import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendNodeResponse } from '@whatwg-node/server'
import { ERRORS, RepriseError } from '../domain/errors.ts'
import { REQUEST_BYTES_MAX } from './limits.ts'
import { readWhole } from './read-whole.ts'
import type { GraphQLServer } from './server.ts'
import { urlOf, wholeRequests } from './whole-request.ts'

type ServeHttp = (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<void>

/**
 * Serves requests of Node by a server that knows those of the Fetch API. The body of a request is read whole before,
 * and an answer is written at once with its length: streams of both cost a third more CPU. Event streams stay streams.
 */
export function createServeHttp(server: GraphQLServer): ServeHttp {
  const newWholeRequest = wholeRequests(server.fetchAPI as { Request: typeof Request })

  async function servePost(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const body = await readWhole(request, REQUEST_BYTES_MAX)
    if (body === null) return
    const gone = new AbortController()
    const abort = () => gone.abort()
    response.once('close', abort)
    // The server would copy a context that it is given, property by property: the request carries what it has to know.
    const answer = await server.handleRequest(newWholeRequest(request, { body, signal: gone.signal, requestId }), {})
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      response.once('finish', () => response.off('close', abort))
      await sendNodeResponse(answer, response, request, false)
      return
    }
    const text = await answer.text()
    response.off('close', abort)
    response.setHeaders(answer.headers)
    response.writeHead(answer.status, { 'Content-Length': Buffer.byteLength(text) })
    response.end(text)
  }

  return async (request, response, requestId) => {
    try {
      if (!URL.canParse(urlOf(request))) {
        throw new RepriseError('MALFORMED_REQUEST', 'The Host or the path of the request is none.')
      }
      if (request.method === 'POST') await servePost(request, response, requestId)
      else await server(request, response, { requestId })
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error
      refuse(response, error)
    }
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
