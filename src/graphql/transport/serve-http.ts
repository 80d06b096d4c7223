import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendNodeResponse } from '@whatwg-node/server'
import { GraphQLError } from 'graphql'
import { ERRORS, RepriseError } from '../../domain/errors.ts'
import { exceeded, type JsonBounds, JsonCounter } from '../../domain/json-bounds.ts'
import {
  CREATE_SESSIONS_BYTES_MAX,
  CREATE_SESSIONS_VALUES_MAX,
  REQUEST_BYTES_MAX,
  REQUEST_VALUES_MAX,
  STRANGER_BYTES_MAX,
} from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import { type Authenticate, noteKnown } from '../../services/access/authenticate.ts'
import { mayChange } from '../../services/access/authorize.ts'
import type { Rates } from '../../services/access/admission.ts'
import { type BodyBounds, readBody, RequestGone } from '../../services/input/read-body.ts'
import { nextTurn } from '../../services/next-turn.ts'
import { presentFault, tooManyRequests } from '../error-presentation.ts'
import type { GraphQLServer } from '../server.ts'
import { identify } from './authentication.ts'
import { isSmallIntrospection, type PublicIntrospection } from './public-introspection.ts'
import { createSingleAnswers, type SingleAnswer } from './single-answers.ts'
import type { TrustedDocuments } from './trusted-documents.ts'
import { type Identity, wholeRequests } from './whole-request.ts'

/**
 * The server context for Yoga, which would copy it property by property. The request itself carries the values instead.
 */
const NO_CONTEXT = undefined!

type ServeHttp = (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<void>

/**
 * Serves Node's requests through a server that takes requests of the Fetch API. The caller of a POST is authenticated
 * before the body is read. The whole body is read at once, and the response is sent with one write: streaming both
 * costs a third more CPU per request. Only event streams are streamed. Usual requests go past the Fetch API.
 */
export function createServeHttp(
  server: GraphQLServer,
  options: {
    authenticate: Authenticate
    /** Answers requests without a token; null if they are refused without being read. */
    introspection: PublicIntrospection | null
    /** Rate limit of addresses that send requests without a token. */
    strangers: Rates | undefined
    log: Logger
    trustedDocuments: TrustedDocuments | undefined
  },
): ServeHttp {
  const { authenticate, introspection, strangers, log } = options
  const answerSingly = createSingleAnswers(server, options)
  const newWholeRequest = wholeRequests(server.fetchAPI)
  const urlOf = urlParser()

  async function servePost(
    request: IncomingMessage,
    response: ServerResponse,
    { url, requestId }: { url: URL; requestId: string },
  ): Promise<void> {
    const identity = await identify(authenticate, request.headers.authorization, {
      address: request.socket.remoteAddress,
    }).catch((error: unknown) => presentFault(error, { log, requestId }))
    const isStranger = identity instanceof GraphQLError
    if (isStranger) {
      const refusal = refusalOf(request, identity)
      if (refusal) return refuse(request, response, refusal)
    } else noteKnown(request.socket)
    const body = await readBody(request, boundsFor(identity)).catch((error: unknown) => {
      if (error instanceof RequestGone) return null
      throw isStranger ? identity : error
    })
    if (body === null) return
    if (isStranger) {
      const { query, operationName } = paramsIn(body)
      const send = introspection?.whole(query, operationName)
      if (send) return send(request, response)
      if (!isSmallIntrospection(query)) return refuse(request, response, identity)
    }
    const gone = new AbortController()
    const abort = () => gone.abort()
    response.once('close', abort)
    const isLarge = body.length > REQUEST_BYTES_MAX
    const { remoteAddress: address } = request.socket
    const text = body.toString()
    if (!isStranger && !isLarge) {
      const requester = { ...identity, requestId, address, connection: request, left: gone.signal }
      const answer = await answerSingly(request, text, requester)
      if (answer) return sendAnswer(response, abort, answer)
    }
    const parts = { url, body: text, signal: gone.signal, requestId, address, identity, isLarge }
    const whole = newWholeRequest(request, parts)
    if (isLarge) await nextTurn()
    const answer = await server.handleRequest(whole, NO_CONTEXT)
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      response.once('finish', () => response.off('close', abort))
      await sendNodeResponse(answer, response, request, false)
      return
    }
    sendAnswer(response, abort, { status: answer.status, headers: answer.headers, text: await answer.text() })
  }

  /**
   * Returns the error for a request without a valid token that is refused before its body is read; null if it may
   * introspect.
   */
  function refusalOf({ socket }: IncomingMessage, identity: GraphQLError): GraphQLError | null {
    const { code } = identity.extensions
    // Without the database, tokens cannot be checked.
    if (introspection === null || (code !== 'UNAUTHENTICATED' && code !== 'FORBIDDEN')) return identity
    if (strangers?.take(socket.remoteAddress ?? '') !== false) return null
    return tooManyRequests(new RepriseError('TOO_MANY_REQUESTS', TOO_MANY_STRANGERS))
  }

  async function serveGet(
    request: IncomingMessage,
    response: ServerResponse,
    { url, requestId }: { url: URL; requestId: string },
  ): Promise<void> {
    const { remoteAddress: address } = request.socket
    const identity = await identify(authenticate, request.headers.authorization, { address }).catch((error: unknown) =>
      presentFault(error, { log, requestId }),
    )
    if (identity instanceof GraphQLError) {
      const refusal = refusalOf(request, identity)
      if (refusal) return refuse(request, response, refusal)
      const query = url.searchParams.get('query')
      const send = introspection?.whole(query, url.searchParams.get('operationName'))
      if (send) return send(request, response)
      if (!isSmallIntrospection(query)) return refuse(request, response, identity)
    } else noteKnown(request.socket)
    await server(request, response, { requestId, address })
  }

  return async (request, response, requestId) => {
    try {
      const url = urlOf(request)
      if (request.method === 'POST') await servePost(request, response, { url, requestId })
      else if (request.method === 'GET') await serveGet(request, response, { url, requestId })
      else await server(request, response, { requestId, address: request.socket.remoteAddress })
    } catch (error) {
      if (!(error instanceof RepriseError || error instanceof GraphQLError)) throw error
      refuse(request, response, error)
    }
  }
}

const TOO_MANY_STRANGERS = 'Too many requests without a valid token from this address. Try again in a moment.'

/** Parameters of a request without a token; empty if the body is not JSON. */
function paramsIn(body: Buffer): { query?: unknown; operationName?: unknown } {
  try {
    return (JSON.parse(body.toString()) as object | null) ?? {}
  } catch {
    return {}
  }
}

/**
 * Returns the limits of a request body. Only callers that may create sessions may send large requests. The HTTP server
 * limits how long they may take.
 */
function boundsFor(identity: Identity | GraphQLError): BodyBounds {
  if (identity instanceof GraphQLError) return { bytesMax: STRANGER_BYTES_MAX, excessOf: counting(REQUEST_VALUES_MAX) }
  if (!mayChange(identity.viewer)) return { bytesMax: REQUEST_BYTES_MAX, excessOf: counting(REQUEST_VALUES_MAX) }
  return { bytesMax: CREATE_SESSIONS_BYTES_MAX, excessOf: counting(CREATE_SESSIONS_VALUES_MAX) }
}

/** Checks the bounds of a JSON body while it arrives, before it is parsed. */
function counting(max: JsonBounds): (chunk: Buffer) => string | undefined {
  const counter = new JsonCounter()
  return (chunk) => {
    counter.add(chunk)
    return exceeded(counter, max)
  }
}

/** Returns a function that parses URLs. It remembers the last URL: almost all requests have the same one. */
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

/** `abort` listens for the end of the connection. */
function sendAnswer(response: ServerResponse, abort: () => void, { status, headers, text }: SingleAnswer): void {
  if (response.destroyed) return
  response.off('close', abort)
  response.setHeaders(headers)
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}

interface HttpExtension {
  status: number
  headers?: Record<string, string>
}

/** Sends an error without reading the rest of the body. The rest is discarded. */
function refuse(request: IncomingMessage, response: ServerResponse, error: RepriseError | GraphQLError): void {
  request.resume()
  const { http, ...extensions } = error instanceof RepriseError ? ofReprise(error) : error.extensions
  // An error of the server itself has no `http` in its extensions.
  const { status, headers = {} } = (http as HttpExtension | undefined) ?? { status: 500 }
  const text = JSON.stringify({ errors: [{ message: error.message, extensions }] })
  const modern = request.headers.accept?.includes('application/graphql-response+json')
  response.writeHead(status, {
    'Content-Type': `application/${modern ? 'graphql-response+json' : 'json'}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

function ofReprise({ code }: RepriseError): Record<string, unknown> {
  return { code, http: { status: ERRORS[code].httpStatus } }
}
