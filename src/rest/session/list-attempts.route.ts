import { createRoute, z } from '@hono/zod-openapi'
import { readAttempts } from '../../services/session/read-sessions.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { toSession } from './session.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, toPage } from '../routes/paging.ts'
import { SessionIdParameter } from '../routes/parameters.ts'
import { SessionPage } from './session-page.ts'

const route = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/attempts',
  operationId: 'listAttempts',
  summary: 'All attempts of a chain',
  description: 'The sessions of the chain that this one belongs to, oldest to newest.',
  tags: ['sessions'],
  request: { params: SessionIdParameter, query: z.strictObject(PAGE_PARAMETERS) },
  responses: { 200: json(SessionPage, 'A page of attempts.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

export function serveListAttempts(app: RestApp): void {
  app.openapi(route, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const page = await readAttempts(c.get('context'), {
      sessionId: c.req.valid('param').id,
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toSession)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}
