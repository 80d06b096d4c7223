import type { ServerResponse } from 'node:http'
import { respond } from './respond.ts'

/** A database that takes longer is as good as none. */
const READY_WITHIN_MS = 2_000

/** The process runs and its event loop turns. */
export function answerHealth(response: ServerResponse): void {
  respond(response, 200, 'application/json', '{"status":"ok"}\n')
}

/** It can do what it is for: the database answers, and it is not about to stop. */
export async function answerReadiness(
  response: ServerResponse,
  db: { query(text: string): Promise<unknown> },
  closing: boolean,
): Promise<void> {
  const ready = !closing && (await answersInTime(db))
  const reason = closing ? 'closing' : 'no database'
  if (ready) respond(response, 200, 'application/json', '{"status":"ready"}\n')
  else respond(response, 503, 'application/json', `${JSON.stringify({ status: 'not ready', reason })}\n`)
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
