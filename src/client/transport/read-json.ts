import { ConnectionLostError, HttpStatusError } from '../errors.ts'
import { parseRetryAfter } from '../retry/http-schedule.ts'
import type { HttpAnswer } from './transport.ts'

/** Null where it is no JSON. @throws ConnectionLostError if the response is truncated */
export function parseJsonAnswer<Body extends object>({ status, contentType, text }: HttpAnswer): Body | null {
  if (!/\bjson\b/.test(contentType)) return null
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' ? (body as Body | null) : null
  } catch (error) {
    if (status >= 300) return null
    throw new ConnectionLostError('BODY_CUT_OFF', 'The answer is no whole JSON', error)
  }
}

/** Of somebody in between, or of a server that is no Reprise. */
export function unexpectedAnswer(answer: HttpAnswer): HttpStatusError {
  const { status, contentType, text } = answer
  const retryAfterSeconds = parseRetryAfter(answer.retryAfter, Date.now())
  const said = contentType.startsWith('text/plain') ? `: ${text.trim().slice(0, 200)}` : ''
  const requestId = answer.requestId ?? undefined
  return new HttpStatusError(status, `The server answered with ${status}${said}`, { retryAfterSeconds, requestId })
}
