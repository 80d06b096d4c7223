import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AgentErrorAnswer } from '../../domain/agent/http-protocol.ts'
import { ERRORS, maskedFault, RepriseError } from '../../domain/errors.ts'

/** How long a client may continue to send a request that was refused before the connection is cut. */
const LINGER_MS = 5_000

export function answerJson(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(text)
}

/** Known errors are sent as they are; any other shows only the request id, under which the log has the details. */
export function answerError(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  error: unknown,
): void {
  const { status, body } = describe(error, requestId)
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  if (status === 405) response.setHeader('Allow', 'POST')
  if (status === 408 || status === 503) response.setHeader('Connection', 'close')
  answerJson(response, status, body)
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), LINGER_MS)
  request.once('close', () => clearTimeout(timer))
}

function describe(error: unknown, requestId: string): { status: number; body: AgentErrorAnswer } {
  if (!(error instanceof RepriseError)) {
    const message = maskedFault(requestId)
    return { status: 500, body: { code: 'INTERNAL', message, issues: [], requestId } }
  }
  const { code, message, issues } = error
  return { status: ERRORS[code].httpStatus, body: { code, message, issues, requestId } }
}
