import { createRoute, z } from '@hono/zod-openapi'
import { readSessions } from '../../services/session/read-sessions.ts'
import { COMMON_PROBLEMS, json } from '../answers.ts'
import { toSession } from './session.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, toPage } from '../routes/paging.ts'
import { SESSION_FILTER, sessionFilter } from './session-filter.ts'
import { SessionPage } from './session-page.ts'

const Parameters = z.strictObject({ ...PAGE_PARAMETERS, ...SESSION_FILTER })

const route = createRoute({
  method: 'get',
  path: '/v2/sessions',
  operationId: 'listSessions',
  summary: 'List sessions',
  description: 'Newest first. All filters that are given must match.',
  tags: ['sessions'],
  request: { query: Parameters },
  responses: {
    200: json(SessionPage, 'A page of sessions; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
  },
})

export function serveListSessions(app: RestApp): void {
  app.openapi(route, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid('query')
    const page = await readSessions(c.get('context'), {
      filter: sessionFilter(filter),
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toSession)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}
