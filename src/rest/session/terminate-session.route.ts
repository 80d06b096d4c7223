import { createRoute, z } from '@hono/zod-openapi'
import { readSession } from '../../services/session/read-sessions.ts'
import { terminateSession } from '../../services/session/terminate-session.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { SessionResource, toSession } from './session.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { flag, SessionIdParameter } from '../routes/parameters.ts'

const route = createRoute({
  method: 'delete',
  path: '/v2/sessions/{id}',
  operationId: 'terminateSession',
  summary: 'End a session',
  description: 'It is not retried; a retry that it waits for is cancelled. The session and its history are kept.',
  tags: ['sessions'],
  request: {
    params: SessionIdParameter,
    query: z.strictObject({
      force: flag('Kill its processes without a grace period.'),
      reason: z.string().optional().openapi({ description: 'Kept with the session.' }),
    }),
  },
  responses: {
    202: json(SessionResource, 'It is ending, or has ended already if nothing of it ran or only its retry was left.'),
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND', 'SESSION_ALREADY_FINISHED'),
  },
})

export function serveTerminateSession(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const { force, reason } = c.req.valid('query')
    const sessionId = c.req.valid('param').id
    await terminateSession(context, { sessionId, force: force ?? false, reason: reason ?? null })
    return c.json(toSession(await readSession(context, sessionId)), 202)
  })
}
