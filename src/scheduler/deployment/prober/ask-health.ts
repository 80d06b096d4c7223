import { request, type IncomingMessage } from 'node:http'
import { HEALTH_CHECK_BODY_BYTES_MAX } from '../../../domain/limits.ts'

export interface HealthQuestion {
  host: string
  port: number
  /** Including the query. */
  path: string
  /** From the look-up of the name to the response's status. */
  timeoutMs: number
}

/**
 * Resolves with null if the route is healthy (a status from 200 to 299), otherwise with what was wrong, in words.
 * Redirects are not followed and count as a fault.
 */
export type AskHealth = (question: HealthQuestion, signal: AbortSignal) => Promise<string | null>

const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  ENOTFOUND: 'its host has no address',
  EAI_AGAIN: 'its host has no address just now',
}

const FAULT_LENGTH_MAX = 200

/** Sends one GET over a new connection. Rejects only when `signal` aborts. */
export const askHealth: AskHealth = ({ host, port, path, timeoutMs }, signal) =>
  new Promise((resolve, reject) => {
    const overdue = AbortSignal.timeout(timeoutMs)
    const outgoing = request({
      host,
      port,
      path,
      agent: false,
      headers: { 'user-agent': 'Reprise-Health', accept: '*/*', connection: 'close' },
      signal: AbortSignal.any([signal, overdue]),
    })
    outgoing.on('response', (answer) => {
      discard(answer)
      const { statusCode = 0 } = answer
      resolve(statusCode >= 200 && statusCode <= 299 ? null : `it answered ${statusCode}`)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason as Error)
      else if (overdue.aborted) resolve(`it did not answer within ${timeoutMs / 1000} s`)
      else resolve(FAULTS[error.code ?? ''] ?? error.message.slice(0, FAULT_LENGTH_MAX))
    })
    outgoing.end()
  })

/** Lets a short response finish, and cuts off a long one. */
function discard(answer: IncomingMessage): void {
  let bytes = 0
  answer.on('error', () => {})
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > HEALTH_CHECK_BODY_BYTES_MAX) answer.destroy()
  })
}
