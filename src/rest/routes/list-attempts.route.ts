import { createRoute, z } from '@hono/zod-openapi'
import { readAttempts } from '../../services/read-sessions.ts'
import { ANYWAY, json, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, SessionPage, toSessionPage } from './paging.ts'
import { SessionIdParameter } from './parameters.ts'

const route = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/attempts',
  operationId: 'listAttempts',
  summary: 'All attempts of a chain',
  description: 'The sessions of the chain that this one belongs to, oldest to newest.',
  tags: ['sessions'],
  request: { params: SessionIdParameter, query: z.strictObject(PAGE_PARAMETERS) },
  responses: { 200: json(SessionPage, 'A page of attempts.'), ...ANYWAY, ...problems('SESSION_NOT_FOUND') },
})

export function serveListAttempts(app: RestApp): void {
  app.openapi(route, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const page = { first: limit, after: cursor ?? null }
    const body = toSessionPage(await readAttempts(c.get('context'), { sessionId: c.req.valid('param').id, page }))
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}
