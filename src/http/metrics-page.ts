import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQL } from '../graphql/graphql.ts'
import { within } from '../waiting/wait.ts'
import { offerCompression } from './compression.ts'
import { respond } from './http-messages.ts'
import { type SendStatic, staticAnswer } from './static-answer.ts'

export interface MetricsPage {
  render: () => Promise<string>
  /** Whether the page is served without a token. */
  public: boolean
}

/** Time limit for the check of a token. A scraper usually waits 10 s, which must also suffice to render the page. */
const IDENTIFY_WITHIN_MS = 3_000
const READERS_MAX = 100

/** A public page is cached for this time, because rendering it queries the database. */
const PUBLIC_FOR_MS = 1_000

/** Answers a request for the page. */
export type AnswerMetrics = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Serves the page even while the database is unreachable, because the page then has to report that. Tokens cannot be
 * checked at that time, so readers that were allowed at the last check are still allowed. Without the database, the
 * page has only the figures of this process.
 */
export function createMetricsAnswer(page: MetricsPage, identify: GraphQL['identify']): AnswerMetrics {
  const readers = new Set<string>()

  /** Checks whether the caller may read the page; null means yes. */
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

  /** The cached public page. */
  let rendered: { until: number; send: SendStatic } | undefined

  function sendRendered(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!rendered || rendered.until < performance.now()) {
      const read = async () => Buffer.from(await page.render())
      rendered = { until: performance.now() + PUBLIC_FOR_MS, send: staticAnswer({ read, headers: HEADERS }) }
    }
    return rendered.send(request, response)
  }

  return async (request, response) => {
    if (page.public) return sendRendered(request, response)
    offerCompression(request, response)
    const refused = await refusalOf(request.headers.authorization)
    if (refused) return respond(response, refused.status, 'text/plain', `${refused.refusal}\n`)
    respond(response, 200, HEADERS['Content-Type'], await page.render())
  }
}

const HEADERS = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'Cache-Control': 'no-store' } as const

/** Resolves with null if the promise fails or takes too long. */
async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  return (await within(IDENTIFY_WITHIN_MS, asked).catch(() => null)) ?? null
}
