import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQL } from '../graphql/graphql.ts'
import { within } from '../waiting/wait.ts'
import { respond } from './respond.ts'

export interface MetricsPage {
  render: () => Promise<string>
  /** Whether it is served without a token. */
  public: boolean
}

/** Whoever scrapes waits for 10 s, in which the page has to be rendered as well. */
const IDENTIFY_WITHIN_MS = 3_000
const READERS_MAX = 100

/** Answers requests for the page. */
export type AnswerMetrics = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * The page has to say that the database is away, which alone knows the tokens. So who was allowed to read it the last
 * time that the database answered may read it until it answers again: figures, and not those of the database.
 */
export function createMetricsAnswer(page: MetricsPage, identify: GraphQL['identify']): AnswerMetrics {
  const readers = new Set<string>()

  /** Null: may read it. */
  async function refusalOf(authorization: string | undefined): Promise<{ status: number; refusal: string } | null> {
    const key = createHash('sha256')
      .update(authorization ?? '')
      .digest('base64')
    const known = readers.has(key)
    const identity = await (known ? inTime(identify(authorization)) : identify(authorization))
    if (identity === null) return null
    readers.delete(key)
    if ('refusal' in identity) return identity
    if (!identity.mayReadMetrics)
      return { status: 403, refusal: 'This page is for ADMIN and METRICS without a project.' }
    if (readers.size >= READERS_MAX) readers.clear()
    readers.add(key)
    return null
  }

  return async (request, response) => {
    const refused = page.public ? null : await refusalOf(request.headers.authorization)
    if (refused) return respond(response, refused.status, 'text/plain', `${refused.refusal}\n`)
    respond(response, 200, 'text/plain; version=0.0.4; charset=utf-8', await page.render())
  }
}

/** Null if it fails or takes too long. */
async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  return (await within(IDENTIFY_WITHIN_MS, asked).catch(() => null)) ?? null
}
