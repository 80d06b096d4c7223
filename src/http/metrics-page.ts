import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQL } from '../graphql/graphql.ts'
import { respond } from './respond.ts'

export interface MetricsPage {
  render: () => Promise<string>
  /** Whether it is served without a token. */
  public: boolean
}

export async function answerMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  page: MetricsPage,
  identify: GraphQL['identify'],
): Promise<void> {
  if (!page.public) {
    const identity = await identify(request.headers.authorization)
    if ('refusal' in identity) return respond(response, identity.status, 'text/plain', `${identity.refusal}\n`)
    if (!identity.mayReadMetrics)
      return respond(response, 403, 'text/plain', 'The role of the token does not allow it.\n')
  }
  respond(response, 200, 'text/plain; version=0.0.4; charset=utf-8', await page.render())
}
