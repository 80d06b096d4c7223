import type { ServerResponse } from 'node:http'
import { startingProblem } from '../rest/problem.ts'
import { within } from '../waiting/wait.ts'
import { respond } from './respond.ts'

/** A slower database counts as unreachable. */
const READY_WITHIN_MS = 2_000

/** Healthy means that the process runs and its event loop is not blocked. */
export function answerHealth(response: ServerResponse): void {
  respond(response, 200, 'application/json', '{"status":"ok"}\n')
}

/** Ready means that the database is reachable. Warnings are for those who run the server. */
export async function answerReadiness(
  response: ServerResponse,
  ask: () => Promise<readonly string[]>,
  details: Readonly<Record<string, string>>,
): Promise<void> {
  const warnings = await within(READY_WITHIN_MS, ask()).catch(() => undefined)
  if (warnings === undefined) return answerNotReady(response, 'no database')
  const ready = { status: 'ready', ...details, ...(warnings.length > 0 && { warnings }) }
  respond(response, 200, 'application/json', `${JSON.stringify(ready)}\n`)
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
