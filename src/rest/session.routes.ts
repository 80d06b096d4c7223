import { createRoute, z } from '@hono/zod-openapi'
import { compareSession, type SessionComparison } from '../services/insight/compare-sessions.ts'
import { readAttempts, readSession, readSessions } from '../services/session/read-sessions.ts'
import {
  jsonBody,
  BODY_PROBLEMS,
  COMMON_PROBLEMS,
  json,
  nextLink,
  PAGE_PARAMETERS,
  problems,
  toPage,
} from './route-parts.ts'
import { SessionPage, SessionResource, toSession } from './session.resource.ts'
import type { RestApp } from './rest-app.ts'
import { SESSION_FILTER, SESSION_INPUT, sessionFilter } from './session.input.ts'
import type { CreateSessionInput } from '../services/session/create-session-input.ts'
import { createSession } from '../services/session/create-sessions.ts'
import { readJsonBody, writtenInput } from './json-body.ts'
import { flag, SessionIdParameter } from './parameters.ts'
import { renamed, snakeCase, type SnakeKeys } from './snake-case.ts'
import { terminateSession } from '../services/session/terminate-session.ts'

const Parameters = z.strictObject({ ...PAGE_PARAMETERS, ...SESSION_FILTER })

const listRoute = createRoute({
  method: 'get',
  path: '/v2/sessions',
  operationId: 'listSessions',
  summary: 'List sessions',
  description: 'Newest first. All given filters must match.',
  tags: ['sessions'],
  request: { query: Parameters },
  responses: {
    200: json(SessionPage, 'A page of sessions; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
  },
})

const createSessionRoute = createRoute({
  method: 'post',
  path: '/v2/sessions',
  operationId: 'createSession',
  summary: 'Create a session',
  description:
    'Idempotent by `creation_id`: a repeated request returns the existing session, and another request with the same id is refused with CREATION_ID_REUSED.',
  tags: ['sessions'],
  request: {
    body: jsonBody(SESSION_INPUT, {
      name: 'train',
      command: ['sh', '-c', 'exit 3'],
      resource_slots: [{ slot: 'mem', amount: '512m' }],
      creation_id: 'train-2026-11-21',
      retry_policy: { max_retries: 2, retry_delay: 30, backoff: 'EXPONENTIAL' },
    }),
  },
  responses: {
    201: json(SessionResource, 'Created.'),
    200: json(SessionResource, 'The `creation_id` was used before: the session that it created.'),
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

const getRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}',
  operationId: 'getSession',
  summary: 'Get a session',
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: { 200: json(SessionResource, 'The session.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

const attemptsRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/attempts',
  operationId: 'listAttempts',
  summary: 'List the attempts of a chain',
  description: 'The sessions of the chain that this one belongs to, oldest to newest.',
  tags: ['sessions'],
  request: { params: SessionIdParameter, query: z.strictObject(PAGE_PARAMETERS) },
  responses: { 200: json(SessionPage, 'A page of attempts.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

const line = () => z.string().nullable()
const lines = () => z.array(z.string())

const ComparisonResource = z
  .object({
    left_id: z.uuid().openapi({ description: 'This session.' }),
    right_id: z.uuid().openapi({ description: 'The other one.' }),
    differences: z.array(z.object({ field: z.string(), before: line(), after: line() })).openapi({
      description: 'Fields of their specifications that differ: `before` of this session, `after` of the other one.',
    }),
    log_difference: z
      .object({
        left_number: z.int(),
        right_number: z.int(),
        left_line: line(),
        right_line: line(),
        lines_before: lines(),
        left_lines_after: lines(),
        right_lines_after: lines(),
      })
      .nullable()
      .openapi({
        description:
          'The first place where their logs say different things, apart from numbers, times, paths and ids: the numbers of the lines, the lines (null where a log has ended), and up to 3 lines around. Null if they say the same.',
      }),
  })
  .openapi('SessionComparison', { description: 'What differs between two sessions.' })

const compareRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/comparison',
  operationId: 'compareSession',
  summary: 'Compare a session with another one',
  description:
    'Compares the specifications, and the beginnings of what their first kernels wrote. Without `with`, the other one is the last success of the same name, or else the attempt before.',
  tags: ['sessions'],
  request: {
    params: SessionIdParameter,
    query: z.strictObject({
      with: z.uuid().toLowerCase().optional().openapi({ description: 'Id of the other session.' }),
    }),
  },
  responses: { 200: json(ComparisonResource, 'The comparison.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

const terminateRoute = createRoute({
  method: 'delete',
  path: '/v2/sessions/{id}',
  operationId: 'terminateSession',
  summary: 'End the chain of a session',
  description:
    'Terminates the live attempt or cancels the waiting retry of the chain that this session belongs to. The chain is not retried until somebody resubmits it. The response is the session that ends: the newest attempt. All records are kept.',
  tags: ['sessions'],
  request: {
    params: SessionIdParameter,
    query: z.strictObject({
      force: flag('True: kills its processes without a grace period.'),
      reason: z.string().optional().openapi({ description: 'The reason, which is stored with the session.' }),
    }),
  },
  responses: {
    202: json(SessionResource, 'The session is being terminated. It has already ended if nothing of it was running.'),
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND', 'SESSION_ALREADY_FINISHED'),
  },
})

export function serveSessions(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid('query')
    const page = await readSessions(c.get('context'), {
      filter: sessionFilter(filter),
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toSession)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(createSessionRoute, async (c) => {
    const context = c.get('context')
    const input = writtenInput(await readJsonBody(c.env.incoming)) as CreateSessionInput
    const { sessionId, created } = await createSession(context, input)
    const session = toSession(await readSession(context, sessionId))
    if (!created) return c.json(session, 200)
    return c.json(session, 201, { Location: `/v2/sessions/${sessionId}` })
  })
  app.openapi(getRoute, async (c) => {
    return c.json(toSession(await readSession(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(attemptsRoute, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const page = await readAttempts(c.get('context'), {
      sessionId: c.req.valid('param').id,
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toSession)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(compareRoute, async (c) => {
    const found = await compareSession(c.get('context'), c.req.valid('param').id, c.req.valid('query').with)
    return c.json(renamed(found, snakeCase) as SnakeKeys<SessionComparison>, 200)
  })
  app.openapi(terminateRoute, async (c) => {
    const context = c.get('context')
    const { force, reason } = c.req.valid('query')
    const { sessionId } = await terminateSession(context, {
      sessionId: c.req.valid('param').id,
      force: force ?? false,
      reason: reason ?? null,
    })
    return c.json(toSession(await readSession(context, sessionId)), 202)
  })
}
