import { createRoute } from '@hono/zod-openapi'
import { readRetryDecision } from '../services/retry/decide-session.ts'
import { BODY_PROBLEMS, COMMON_PROBLEMS, json, jsonBody, problems } from './route-parts.ts'
import type { RestApp } from './rest-app.ts'
import { SessionIdParameter } from './parameters.ts'
import { cancelRetry, retryNow, updateRetry } from '../services/retry/change-retry.ts'
import { readSession } from '../services/session/read-sessions.ts'
import { readJsonObject } from './json-body.ts'
import { RETRY_UPDATE } from './session.input.ts'
import { RetryDecisionResource, toDecision } from './retry.resource.ts'
import { SessionResource, toSession } from './session.resource.ts'
import { camelCase, renamed } from './snake-case.ts'

const getRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/retry',
  operationId: 'getRetry',
  summary: 'Get the retry decision of a session',
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: {
    200: json(
      RetryDecisionResource.nullable(),
      'The decision; null if the session has not ended or has not been decided yet.',
    ),
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND'),
  },
})

const PROBLEMS = { ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND', 'NO_PENDING_RETRY') }

const SESSION = json(SessionResource, 'The session that failed, with the new state of its retry.')

const ANY_SESSION = 'Any session of the chain names its retry.'

const cancelRoute = createRoute({
  method: 'delete',
  path: '/v2/sessions/{id}/retry',
  operationId: 'cancelRetry',
  summary: 'Cancel a scheduled or held retry',
  description: `The chain ends with the failed session. ${ANY_SESSION}`,
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: { 200: SESSION, ...PROBLEMS },
})

const nowRoute = createRoute({
  method: 'post',
  path: '/v2/sessions/{id}/retry/now',
  operationId: 'retryNow',
  summary: 'Make a scheduled or held retry due now',
  description: ANY_SESSION,
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: { 200: SESSION, ...PROBLEMS },
})

const updateRoute = createRoute({
  method: 'patch',
  path: '/v2/sessions/{id}/retry',
  operationId: 'updateRetry',
  summary: 'Change the policy or the resources of a scheduled or held retry',
  description: `The retry is decided again, with delays from now on. The new decision may also be not to retry. ${ANY_SESSION}`,
  tags: ['sessions'],
  request: {
    params: SessionIdParameter,
    body: jsonBody(RETRY_UPDATE, {
      policy: { max_retries: 5, retry_delay: 10 },
      resource_slots: [{ slot: 'mem', amount: '4g' }],
    }),
  },
  responses: {
    200: SESSION,
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'SESSION_NOT_FOUND', 'NO_PENDING_RETRY'),
  },
})

export function serveRetries(app: RestApp): void {
  app.openapi(getRoute, async (c) => {
    const decision = await readRetryDecision(c.get('context'), c.req.valid('param').id)
    return c.json(decision && toDecision(decision), 200)
  })
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
