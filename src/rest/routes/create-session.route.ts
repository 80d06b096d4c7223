import { createRoute } from '@hono/zod-openapi'
import { createSession } from '../../services/create-sessions.ts'
import type { CreateSessionInput } from '../../services/create-session-input.ts'
import { readSession } from '../../services/read-sessions.ts'
import { ANYWAY, json, problems } from '../answers.ts'
import { readJsonBody } from '../json-body.ts'
import { SESSION_INPUT } from '../resources/session-input.ts'
import { SessionResource, toSession } from '../resources/session.resource.ts'
import { camelCase, renamed } from '../resources/snake-case.ts'
import type { RestApp } from '../rest-app.ts'

const route = createRoute({
  method: 'post',
  path: '/v2/sessions',
  operationId: 'createSession',
  summary: 'Create a session',
  description: 'Idempotent by `creation_id`: the same again answers with the session that there is.',
  tags: ['sessions'],
  request: {
    body: {
      required: true,
      content: {
        'application/json': {
          schema: SESSION_INPUT.reference,
          example: {
            name: 'train',
            command: ['sh', '-c', 'exit 3'],
            resource_slots: [{ slot: 'mem', amount: '512m' }],
            creation_id: 'train-2026-11-21',
            retry_policy: { max_retries: 2, retry_delay: 30, backoff: 'EXPONENTIAL' },
          },
        },
      },
    },
  },
  responses: {
    201: json(SessionResource, 'It is created.'),
    200: json(SessionResource, 'The `creation_id` was known: this is the session that was created then.'),
    ...ANYWAY,
    ...problems(
      'MALFORMED_REQUEST',
      'PROJECT_NOT_FOUND',
      'RESOURCE_GROUP_NOT_FOUND',
      'DEPENDENCY_NOT_FOUND',
      'CREATION_ID_REUSED',
      'REQUEST_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'QUOTA_EXCEEDED',
    ),
  },
})

export function serveCreateSession(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const body = renamed(await readJsonBody(c.req.raw), camelCase)
    const { sessionId, created } = await createSession(context, body as CreateSessionInput)
    const session = toSession(await readSession(context, sessionId))
    if (!created) return c.json(session, 200)
    return c.json(session, 201, { Location: `/v2/sessions/${sessionId}` })
  })
}
