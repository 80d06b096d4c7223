import { createRoute } from '@hono/zod-openapi'
import type { CreateSessionInput } from '../../services/session/create-session-input.ts'
import { createSession } from '../../services/session/create-sessions.ts'
import { readSession } from '../../services/session/read-sessions.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonBody } from '../json-body.ts'
import { SESSION_INPUT } from './session-input.ts'
import { SessionResource, toSession } from './session.resource.ts'
import { writtenInput } from '../resources/written-input.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'

const route = createRoute({
  method: 'post',
  path: '/v2/sessions',
  operationId: 'createSession',
  summary: 'Create a session',
  description:
    'Idempotent by `creation_id`: a repeated request returns the existing session, and another request with the same id is refused with CREATION_ID_REUSED.',
  tags: ['sessions'],
  request: {
    body: body(SESSION_INPUT, {
      name: 'train',
      command: ['sh', '-c', 'exit 3'],
      resource_slots: [{ slot: 'mem', amount: '512m' }],
      creation_id: 'train-2026-11-21',
      retry_policy: { max_retries: 2, retry_delay: 30, backoff: 'EXPONENTIAL' },
    }),
  },
  responses: {
    201: json(SessionResource, 'Created.'),
    200: json(SessionResource, 'The `creation_id` is known: the session that was created with it.'),
    ...COMMON_PROBLEMS,
    ...problems(
      ...BODY_PROBLEMS,
      'PROJECT_NOT_FOUND',
      'RESOURCE_GROUP_NOT_FOUND',
      'DEPENDENCY_NOT_FOUND',
      'CREATION_ID_REUSED',
      'QUOTA_EXCEEDED',
    ),
  },
})

export function serveCreateSession(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const input = writtenInput(await readJsonBody(c.env.incoming)) as CreateSessionInput
    const { sessionId, created } = await createSession(context, input)
    const session = toSession(await readSession(context, sessionId))
    if (!created) return c.json(session, 200)
    return c.json(session, 201, { Location: `/v2/sessions/${sessionId}` })
  })
}
