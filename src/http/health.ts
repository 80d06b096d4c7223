import type { ServerResponse } from 'node:http'
import { startingProblem } from '../rest/starting-problem.ts'
import { respond } from './respond.ts'

/** A slower database counts as unreachable. */
const READY_WITHIN_MS = 2_000

/** Healthy means that the process runs and its event loop is not blocked. */
export function answerHealth(response: ServerResponse): void {
  respond(response, 200, 'application/json', '{"status":"ok"}\n')
}

/** Ready means that the database is reachable. */
export async function answerReadiness(
  response: ServerResponse,
  db: { query(text: string): Promise<unknown> },
  details: Readonly<Record<string, string>>,
): Promise<void> {
  const ready = { status: 'ready', ...details }
  if (await answersInTime(db)) respond(response, 200, 'application/json', `${JSON.stringify(ready)}\n`)
  else answerNotReady(response, 'no database')
}

export function answerNotReady(response: ServerResponse, reason: string): void {
  respond(response, 503, 'application/json', `${JSON.stringify({ status: 'not ready', reason })}\n`)
}

/** The answer to all requests but health probes while the server starts. */
export function answerStarting(response: ServerResponse, requestId: string): void {
  const { status, body } = startingProblem(requestId)
  response.setHeader('Retry-After', '1')
  response.setHeader('Connection', 'close')
  respond(response, status, 'application/problem+json', JSON.stringify(body))
}

async function answersInTime(db: { query(text: string): Promise<unknown> }): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(() => resolve(false), READY_WITHIN_MS)
  const answered = db.query('SELECT 1').then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([answered, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
