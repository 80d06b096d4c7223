import { createRoute, z } from '@hono/zod-openapi'
import {
  CREATE_SESSIONS_MAX,
  GROUP_KEY_LENGTH_MAX,
  GROUP_MEMBERS_LISTED_MAX,
  NAME_LENGTH_MAX,
  REASON_LENGTH_MAX,
} from '../domain/limits.ts'
import { RepriseError } from '../domain/errors.ts'
import { createEndWaits } from '../events/end-waits.ts'
import { NO_SYNC_POINTS } from '../observability/sync-points.ts'
import { assertMayChange } from '../services/access/authorize.ts'
import { parseInput } from '../services/input/parse-input.ts'
import { type ResubmitGroupInput, resubmitSessionGroup } from '../services/resubmission/resubmit-sessions.ts'
import { readResubmission } from '../services/resubmission/resubmissions.ts'
import {
  describeGroup,
  describeGroups,
  findGroup,
  MEMBER_STATE_NAMES,
  readEndedGroups,
  readGroupPage,
  readMemberPage,
  requireGroup,
} from '../services/session/read-groups.ts'
import type { ReadContext } from '../services/session/read-sessions.ts'
import { addGroupMembers, cancelSessionGroup } from '../services/session/session-groups.ts'
import { writtenInputs } from './bulk.routes.ts'
import type { StreamServices } from './event-stream.ts'
import { GroupPage, GroupResource, MemberPage, toGroup, toMember } from './group.resource.ts'
import { BULK, readJsonObject, writtenInput } from './json-body.ts'
import { component, inputSchema } from './openapi.ts'
import { flag, GroupIdParameter, several } from './parameters.ts'
import type { RestApp } from './rest-app.ts'
import { GROUP_RESUBMISSION_INPUT } from './resubmission.input.ts'
import { BulkActionResource, toBulkAction } from './resubmission.resource.ts'
import { BODY_PROBLEMS, COMMON_PROBLEMS, json, jsonBody, nextLink, PAGE_PARAMETERS, problems } from './route-parts.ts'
import { SESSION_INPUT } from './session.input.ts'
import { untilEnded, waitTimeout } from './wait.routes.ts'

const tags = ['groups']

const listRoute = createRoute({
  method: 'get',
  path: '/v2/groups',
  operationId: 'listSessionGroups',
  summary: 'List groups of sessions',
  description: 'Newest first. All given filters must match.',
  tags,
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      search: z.string().optional().openapi({ description: 'Whose name or key begins with this.' }),
      ended: flag('True: only groups that have ended; false: only those that have not.'),
    }),
  },
  responses: { 200: json(GroupPage, 'A page of groups.'), ...COMMON_PROBLEMS },
})

const byKeyRoute = createRoute({
  method: 'get',
  path: '/v2/groups/by-key',
  operationId: 'getSessionGroupByKey',
  summary: 'Get a group of sessions by its key',
  tags,
  request: {
    query: z.strictObject({
      key: z.string().openapi({ description: 'Its key.' }),
      project: z.string().default('default').openapi({ description: 'The project of the key.' }),
    }),
  },
  responses: { 200: json(GroupResource, 'The group.'), ...COMMON_PROBLEMS, ...problems('GROUP_NOT_FOUND') },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/groups/{id}',
  operationId: 'getSessionGroup',
  summary: 'Get a group of sessions',
  tags,
  request: { params: GroupIdParameter },
  responses: { 200: json(GroupResource, 'The group.'), ...COMMON_PROBLEMS, ...problems('GROUP_NOT_FOUND') },
})

const membersRoute = createRoute({
  method: 'get',
  path: '/v2/groups/{id}/members',
  operationId: 'listSessionGroupMembers',
  summary: 'List the members of a group',
  description: 'In the order of their indexes.',
  tags,
  request: {
    params: GroupIdParameter,
    query: z.strictObject({
      state: several(MEMBER_STATE_NAMES, 'In one of these states.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(GROUP_MEMBERS_LISTED_MAX)
        .default(100)
        .openapi({ description: 'Maximum number of members.', type: 'integer' }),
      cursor: z
        .string()
        .regex(/^\d{1,9}$/, 'must be `next` of a page')
        .transform(Number)
        .optional()
        .openapi({ type: 'string', description: '`next` of the previous page.' }),
    }),
  },
  responses: { 200: json(MemberPage, 'A page of members.'), ...COMMON_PROBLEMS, ...problems('GROUP_NOT_FOUND') },
})

const addRoute = createRoute({
  method: 'post',
  path: '/v2/groups/{id}/sessions',
  operationId: 'addSessionGroupMembers',
  summary: 'Add members to an open group',
  description:
    'Adds all or none of them. With `indexes` there is one session for each, or one for all of them. Members whose `creation_id` is known, and given indexes that are taken, are left out, so the request may be repeated.',
  tags,
  request: {
    params: GroupIdParameter,
    body: jsonBody(
      component('SessionGroupMembersInput', {
        type: 'object',
        properties: {
          sessions: { type: ['array', 'null'], items: SESSION_INPUT.reference, maxItems: CREATE_SESSIONS_MAX },
          indexes: { type: ['string', 'null'], description: 'Such as `1001-2000`.' },
          close: { type: ['boolean', 'null'], description: 'True: these are the last ones.' },
        },
        additionalProperties: false,
      }),
      { sessions: [{ name: 'shard-3', command: ['true'] }], close: true },
    ),
  },
  responses: {
    200: json(
      z
        .object({ added: z.int().openapi({ description: 'Number of members that were added.' }), group: GroupResource })
        .openapi('AddedMembers'),
      'The group, as it is now.',
    ),
    ...COMMON_PROBLEMS,
    ...problems(
      ...BODY_PROBLEMS,
      'GROUP_NOT_FOUND',
      'GROUP_CLOSED',
      'PROJECT_NOT_FOUND',
      'RESOURCE_GROUP_NOT_FOUND',
      'DEPENDENCY_NOT_FOUND',
      'CREATION_ID_REUSED',
      'QUOTA_EXCEEDED',
    ),
  },
})

const membersSchema = z.strictObject({
  sessions: z.array(z.unknown()).max(CREATE_SESSIONS_MAX).nullish(),
  indexes: z.string().nullish(),
  close: z.boolean().nullish(),
})

const cancelSchema = z.strictObject({ reason: z.string().max(REASON_LENGTH_MAX).nullish() })

const cancelRoute = createRoute({
  method: 'post',
  path: '/v2/groups/{id}/cancel',
  operationId: 'cancelSessionGroup',
  summary: 'Cancel a group',
  description: 'All of its members are ended, and the group then, as CANCELLED.',
  tags,
  request: {
    params: GroupIdParameter,
    body: jsonBody(component('SessionGroupCancellation', inputSchema(cancelSchema)), { reason: 'wrong data' }),
  },
  responses: {
    202: json(GroupResource, 'The group, whose members are ended in the background.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'GROUP_NOT_FOUND', 'GROUP_CLOSED'),
  },
})

const resubmitSchema = z.strictObject({
  states: z.array(z.unknown()).nullish(),
  overrides: z.looseObject({}).nullish(),
  clientKey: z.string().nullish(),
})

const resubmitRoute = createRoute({
  method: 'post',
  path: '/v2/groups/{id}/resubmit',
  operationId: 'resubmitSessionGroup',
  summary: 'Resubmit members of a group',
  description:
    'Members in these states get a new attempt with a new retry budget; a group that had ended runs again, in a new epoch. The response is an action on many sessions, as from `POST /v2/bulk-actions`.',
  tags,
  request: {
    params: GroupIdParameter,
    body: jsonBody(GROUP_RESUBMISSION_INPUT, { states: ['FAILED'], client_key: 'again-2026-11-30' }),
  },
  responses: {
    202: json(BulkActionResource, 'The action, with its results so far.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'GROUP_NOT_FOUND', 'CLIENT_KEY_REUSED'),
  },
})

const waitSchema = z.strictObject({ timeout: waitTimeout })

const waitRoute = createRoute({
  method: 'post',
  path: '/v2/groups/{id}/wait',
  operationId: 'waitForSessionGroup',
  summary: 'Wait until a group has ended',
  description:
    'Responds as soon as the group has ended, or when the time is over, after 50 seconds at the latest. A server that stops responds at once: repeat the request at any server until `ended_at` is set.',
  tags,
  request: {
    params: GroupIdParameter,
    body: jsonBody(component('SessionGroupWaitInput', inputSchema(waitSchema)), { timeout: 30 }),
  },
  responses: {
    200: json(GroupResource, 'The group, as it is now.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'GROUP_NOT_FOUND', 'TOO_MANY_SUBSCRIPTIONS'),
  },
})

export function serveGroups(app: RestApp, streams: StreamServices & Pick<ReadContext, 'db'>): void {
  serveReads(app)
  app.openapi(addRoute, async (c) => {
    const context = c.get('context')
    assertMayChange(context.viewer)
    const given = parseInput(membersSchema, await readJsonObject(c.env.incoming, BULK))
    const sessions = given.sessions ? await writtenInputs(given.sessions) : null
    const { groupId, added } = await addGroupMembers(context, { ...given, sessions, groupId: c.req.valid('param').id })
    return c.json({ added, group: toGroup(await describeGroup(context, groupId)) }, 200)
  })
  app.openapi(cancelRoute, async (c) => {
    const context = c.get('context')
    assertMayChange(context.viewer)
    const { reason = null } = parseInput(cancelSchema, await readJsonObject(c.env.incoming))
    const { groupId } = await cancelSessionGroup(context, { groupId: c.req.valid('param').id, reason })
    return c.json(toGroup(await describeGroup(context, groupId)), 202)
  })
  app.openapi(resubmitRoute, async (c) => {
    const context = { ...c.get('context'), sync: NO_SYNC_POINTS }
    assertMayChange(context.viewer)
    const given = parseInput(resubmitSchema, writtenInput(await readJsonObject(c.env.incoming)))
    const input = { ...given, groupId: c.req.valid('param').id } as ResubmitGroupInput
    const { resubmissionId } = await resubmitSessionGroup(context, input)
    const location = { Location: `/v2/bulk-actions/${resubmissionId}` }
    return c.json(toBulkAction(await readResubmission(context, resubmissionId)), 202, location)
  })
  const waits = createEndWaits({
    bus: streams.bus,
    types: ['group.ended'],
    keyOf: ({ groupId }) => groupId,
    read: (ids) => readEndedGroups(streams, ids),
  })
  app.openapi(waitRoute, async (c) => {
    const context = c.get('context')
    const { timeout } = parseInput(waitSchema, await readJsonObject(c.env.incoming))
    const { id } = await requireGroup(context, c.req.valid('param').id)
    await untilEnded(c, streams, { wait: waits.wait([id], { any: false }), timeout })
    return c.json(toGroup(await describeGroup(context, id)), 200)
  })
}

function serveReads(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const context = c.get('context')
    const { limit, cursor, project = null, search = null, ended = null } = c.req.valid('query')
    const page = { first: limit, after: cursor ?? null }
    const { edges, pageInfo } = await readGroupPage(context, { project, search, ended }, page)
    const found = await describeGroups(
      context,
      edges.map(({ node }) => node),
    )
    const next_cursor = pageInfo.hasNextPage ? pageInfo.endCursor : null
    return c.json({ items: found.map(toGroup), next_cursor }, 200, nextLink(c.req.url, next_cursor))
  })
  app.openapi(byKeyRoute, async (c) => {
    const context = c.get('context')
    const { key, project } = c.req.valid('query')
    const group = await findGroup(context, { key, project })
    if (group === null) {
      const message = `no group ${key.slice(0, GROUP_KEY_LENGTH_MAX)} in project ${project.slice(0, NAME_LENGTH_MAX)}`
      throw new RepriseError('GROUP_NOT_FOUND', message)
    }
    return c.json(toGroup((await describeGroups(context, [group]))[0]!), 200)
  })
  app.openapi(getRoute, async (c) => {
    return c.json(toGroup(await describeGroup(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(membersRoute, async (c) => {
    const { state = null, limit, cursor = null } = c.req.valid('query')
    const page = { states: state, after: cursor, limit }
    const { members, next } = await readMemberPage(c.get('context'), c.req.valid('param').id, page)
    return c.json({ members: members.map(toMember), next: next === null ? null : String(next) }, 200)
  })
}
