import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { RepriseError } from '../domain/errors.ts'
import { CREATE_SESSIONS_MAX } from '../domain/limits.ts'
import { assertMayChange } from '../services/access/authorize.ts'
import { parseInput } from '../services/input/parse-input.ts'
import { mapInTurns } from '../services/next-turn.ts'
import type { CreateSessionInput } from '../services/session/create-session-input.ts'
import { type CreatedSession, createSessions } from '../services/session/create-sessions.ts'
import { describeGroup } from '../services/session/read-groups.ts'
import { readSessionRecords } from '../services/session/read-sessions.ts'
import { createGroup, type GroupInput, groupLimits } from '../services/session/session-groups.ts'
import { GroupResource, toGroup } from './group.resource.ts'
import { BULK, readJsonObject, writtenInput } from './json-body.ts'
import { component, inputSchema } from './openapi.ts'
import { Problem, problemOf } from './problem.ts'
import type { RestApp, RestEnvironment } from './rest-app.ts'
import { BODY_PROBLEMS, COMMON_PROBLEMS, json, jsonBody, problems } from './route-parts.ts'
import { SESSION_INPUT } from './session.input.ts'
import { SessionResource, toSession } from './session.resource.ts'

const GROUP_INPUT = component('SessionGroupInput', {
  ...inputSchema(groupLimits),
  description:
    'The group whose members the sessions are. With `indexes` there is one session for each, or one for all of them.',
})

export const BULK_SESSIONS_INPUT = component('BulkSessionsInput', {
  type: 'object',
  description: 'Sessions to create.',
  properties: {
    sessions: { type: 'array', items: SESSION_INPUT.reference, minItems: 1, maxItems: CREATE_SESSIONS_MAX },
    group: { anyOf: [GROUP_INPUT.reference, { type: 'null' }] },
  },
  required: ['sessions'],
  additionalProperties: false,
})

const bodySchema = z.strictObject({
  sessions: z.array(z.unknown()).min(1).max(CREATE_SESSIONS_MAX),
  group: z.unknown().optional(),
})

const Result = z.object({
  status: z.int().openapi({ description: '201: created. 200: its `creation_id` was used before. Others: refused.' }),
  session: SessionResource.optional(),
  error: Problem.optional().openapi({ description: 'The problem, instead of a session.' }),
})

const BulkResource = z
  .object({
    results: z.array(Result).openapi({
      description: 'The outcome for each session, in the order of the request. Empty for a group with `indexes`.',
    }),
    group: GroupResource.optional(),
    created: z.boolean().optional().openapi({ description: 'False if the key of the group was used before.' }),
  })
  .openapi('BulkSessions', { description: 'The outcome of creating many sessions.' })

const route = createRoute({
  method: 'post',
  path: '/v2/sessions/bulk',
  operationId: 'createSessions',
  summary: 'Create many sessions',
  description:
    'Creates up to 1000 sessions, each independently as `POST /v2/sessions` does. With `group` they are the members of a group, and all or none are created: a problem is then that of the whole request.',
  tags: ['sessions'],
  request: {
    body: jsonBody(BULK_SESSIONS_INPUT, {
      sessions: [
        { name: 'shard-1', command: ['sh', '-c', 'exit 3'] },
        { name: 'shard-2', command: ['true'] },
      ],
      group: { name: 'shards', key: 'shards-2026-11-30' },
    }),
  },
  responses: {
    200: json(BulkResource, 'The outcome for each session.'),
    ...COMMON_PROBLEMS,
    ...problems(
      ...BODY_PROBLEMS,
      'PROJECT_NOT_FOUND',
      'RESOURCE_GROUP_NOT_FOUND',
      'DEPENDENCY_NOT_FOUND',
      'GROUP_NOT_FOUND',
      'CREATION_ID_REUSED',
      'QUOTA_EXCEEDED',
    ),
  },
})

export function serveBulk(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    assertMayChange(context.viewer)
    const { sessions: given, group } = parseInput(bodySchema, await readJsonObject(c.env.incoming, BULK))
    const sessions = await writtenInputs(given)
    if (group == null) return c.json({ results: await show(c, await createSessions(context, sessions)) }, 200)
    const answer = await createGroup(context, { sessions, group: writtenInput(group) as GroupInput })
    const { groupId, created, sessionIds } = answer
    const results = await show(
      c,
      sessionIds.map((sessionId) => ({ sessionId, created })),
    )
    return c.json({ results, group: toGroup(await describeGroup(context, groupId)), created }, 200)
  })
}

/** Converts the sessions of a body, which may be many, to the form that services read. */
export function writtenInputs(sessions: readonly unknown[]): Promise<CreateSessionInput[]> {
  return mapInTurns(sessions, (session) => writtenInput(session) as CreateSessionInput)
}

async function show(
  c: Context<RestEnvironment>,
  outcomes: readonly (CreatedSession | RepriseError)[],
): Promise<z.infer<typeof Result>[]> {
  const ids = outcomes.flatMap((outcome) => (outcome instanceof RepriseError ? [] : [outcome.sessionId]))
  const records = await readSessionRecords(c.get('context'), ids)
  return mapInTurns(outcomes, (outcome) => {
    if (outcome instanceof RepriseError) {
      const { status, body } = problemOf(outcome, c.get('requestId'))
      return { status, error: body }
    }
    return { status: outcome.created ? 201 : 200, session: toSession(records.get(outcome.sessionId)!) }
  })
}
