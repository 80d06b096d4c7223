import { createRoute } from '@hono/zod-openapi'
import { readSession } from '../../services/session/read-sessions.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { SessionResource, toSession } from './session.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { SessionIdParameter } from '../routes/parameters.ts'

const route = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}',
  operationId: 'getSession',
  summary: 'Get a session',
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: { 200: json(SessionResource, 'The session.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

export function serveGetSession(app: RestApp): void {
  app.openapi(route, async (c) => {
    return c.json(toSession(await readSession(c.get('context'), c.req.valid('param').id)), 200)
  })
}
