import { createRoute } from '@hono/zod-openapi'
import { cancelRetry } from '../../services/retry/cancel-retry.ts'
import { readSession } from '../../services/session/read-sessions.ts'
import { retryNow } from '../../services/retry/retry-now.ts'
import { updateRetry } from '../../services/retry/update-retry.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonObject } from '../json-body.ts'
import { RETRY_UPDATE } from '../session/session-input.ts'
import { SessionResource, toSession } from '../session/session.resource.ts'
import { camelCase, renamed } from '../resources/snake-case.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'
import { SessionIdParameter } from '../routes/parameters.ts'

const PROBLEMS = { ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND', 'NO_PENDING_RETRY') }
const SESSION = json(SessionResource, 'The session that failed, with what becomes of its retry.')

const cancelRoute = createRoute({
  method: 'delete',
  path: '/v2/sessions/{id}/retry',
  operationId: 'cancelRetry',
  summary: 'Cancel a scheduled or held retry',
  description: 'The chain ends with the failed session.',
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: { 200: SESSION, ...PROBLEMS },
})

const nowRoute = createRoute({
  method: 'post',
  path: '/v2/sessions/{id}/retry/now',
  operationId: 'retryNow',
  summary: 'Make a scheduled or held retry due now',
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: { 200: SESSION, ...PROBLEMS },
})

const updateRoute = createRoute({
  method: 'patch',
  path: '/v2/sessions/{id}/retry',
  operationId: 'updateRetry',
  summary: 'Change the policy of a scheduled or held retry',
  description: 'The retry is decided anew, from now on; the new decision may also be that there is none.',
  tags: ['sessions'],
  request: { params: SessionIdParameter, body: body(RETRY_UPDATE, { policy: { max_retries: 5, retry_delay: 10 } }) },
  responses: {
    200: SESSION,
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'SESSION_NOT_FOUND', 'NO_PENDING_RETRY'),
  },
})

export function serveChangeRetry(app: RestApp): void {
  app.openapi(cancelRoute, async (c) => {
    const context = c.get('context')
    const { sessionId } = await cancelRetry(context, { sessionId: c.req.valid('param').id })
    return c.json(toSession(await readSession(context, sessionId)), 200)
  })
  app.openapi(nowRoute, async (c) => {
    const context = c.get('context')
    const { sessionId } = await retryNow(context, { sessionId: c.req.valid('param').id })
    return c.json(toSession(await readSession(context, sessionId)), 200)
  })
  app.openapi(updateRoute, async (c) => {
    const context = c.get('context')
    const given = renamed(await readJsonObject(c.env.incoming), camelCase) as object
    const { sessionId } = await updateRetry(context, { ...given, sessionId: c.req.valid('param').id })
    return c.json(toSession(await readSession(context, sessionId)), 200)
  })
}
