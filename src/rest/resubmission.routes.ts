import { createRoute, z } from '@hono/zod-openapi'
import { SESSION_ACTIONS } from '../domain/session/session-spec.ts'
import {
  abortResubmission,
  readItemPage,
  readResubmission,
  readResubmissions,
  showResubmission,
} from '../services/resubmission/resubmissions.ts'
import {
  BODY_PROBLEMS,
  COMMON_PROBLEMS,
  json,
  jsonBody,
  nextLink,
  PAGE_PARAMETERS,
  pageOf,
  problems,
  toPage,
} from './route-parts.ts'
import type { RestApp } from './rest-app.ts'
import { BulkActionIdParameter, SessionIdParameter, several } from './parameters.ts'
import {
  BulkActionItemResource,
  BulkActionResource,
  DryRunResource,
  ITEM_STATUSES,
  toBulkAction,
  toDryRun,
  toItem,
} from './resubmission.resource.ts'
import { type ErrorCode, RepriseError } from '../domain/errors.ts'
import { NO_SYNC_POINTS } from '../observability/sync-points.ts'
import { assertMayChange } from '../services/access/authorize.ts'
import { actOnSessions, resubmitSessions } from '../services/resubmission/resubmit-sessions.ts'
import { readSession } from '../services/session/read-sessions.ts'
import { readJsonObject, writtenInput } from './json-body.ts'
import { SessionResource, toSession } from './session.resource.ts'
import { BULK_ACTION_INPUT, givenAction, SINGLE_RESUBMISSION_INPUT } from './resubmission.input.ts'

/** The operations at each path: actions on many sessions were called resubmissions before. */
const OPERATIONS = {
  '/v2/bulk-actions': {
    list: 'listBulkActions',
    get: 'getBulkAction',
    items: 'listBulkActionItems',
    begin: 'beginBulkAction',
    abort: 'abortBulkAction',
  },
  '/v2/resubmissions': {
    list: 'listResubmissions',
    get: 'getResubmission',
    items: 'listResubmissionItems',
    begin: 'resubmitSessions',
    abort: 'abortResubmission',
  },
} as const

type Base = keyof typeof OPERATIONS

const BulkActionPage = pageOf(BulkActionResource).openapi('BulkActionPage')
const BulkActionItemPage = pageOf(BulkActionItemResource).openapi('BulkActionItemPage')

/** What all operations at a path have in common. */
function commonOf(base: Base) {
  return base === '/v2/bulk-actions'
    ? { tags: ['bulk actions'], note: '' }
    : { tags: ['bulk actions'], note: ' Deprecated: use `/v2/bulk-actions`.', deprecated: true }
}

function listRoute(base: Base) {
  const { note, ...common } = commonOf(base)
  return createRoute({
    ...common,
    method: 'get',
    path: base,
    operationId: OPERATIONS[base].list,
    summary: 'List actions on many sessions',
    description: `Newest first.${note}`,
    request: {
      query: z.strictObject({ ...PAGE_PARAMETERS, action: several(SESSION_ACTIONS, 'Only records of these actions.') }),
    },
    responses: { 200: json(BulkActionPage, 'A page of actions.'), ...COMMON_PROBLEMS },
  })
}

function getRoute(base: Base) {
  const { note, ...common } = commonOf(base)
  return createRoute({
    ...common,
    method: 'get',
    path: `${base}/{id}`,
    operationId: OPERATIONS[base].get,
    summary: 'Get an action on many sessions',
    description: `Includes its progress. While it is RUNNING, the server continues it in the background.${note}`,
    request: { params: BulkActionIdParameter },
    responses: {
      200: json(BulkActionResource, 'The action.'),
      ...COMMON_PROBLEMS,
      ...problems('RESUBMISSION_NOT_FOUND'),
    },
  })
}

function itemsRoute(base: Base) {
  const { note, ...common } = commonOf(base)
  return createRoute({
    ...common,
    method: 'get',
    path: `${base}/{id}/items`,
    operationId: OPERATIONS[base].items,
    summary: 'List the sessions of an action',
    description: `In the order of the request, or oldest first if a filter selected them.${note}`,
    request: {
      params: BulkActionIdParameter,
      query: z.strictObject({
        ...PAGE_PARAMETERS,
        status: z
          .string()
          .toUpperCase()
          .pipe(z.enum(ITEM_STATUSES))
          .optional()
          .openapi({ type: 'string', enum: [...ITEM_STATUSES], description: 'Only sessions with this outcome.' }),
      }),
    },
    responses: {
      200: json(BulkActionItemPage, 'A page of sessions.'),
      ...COMMON_PROBLEMS,
      ...problems('RESUBMISSION_NOT_FOUND'),
    },
  })
}

/** Errors that may refuse the action for a single session. */
const REFUSALS = [
  'SESSION_NOT_FOUND',
  'SESSION_NOT_BATCH',
  'SESSION_NOT_FINISHED',
  'SESSION_SUCCEEDED',
  'SESSION_HAS_CHILD',
  'SESSION_MAY_BE_ALIVE',
  'CHAIN_UNREADABLE',
  'QUOTA_EXCEEDED',
  'CREATION_ID_REUSED',
] as const satisfies ErrorCode[]

function beginRoute(base: Base) {
  const { note, ...common } = commonOf(base)
  return createRoute({
    ...common,
    method: 'post',
    path: base,
    operationId: OPERATIONS[base].begin,
    summary: 'Resubmit many sessions, or take another action on them',
    description: `Up to 500 sessions are done when this responds; the others are done in the background. With \`action\`, sessions are terminated, or their retries cancelled or made due, in the same way. With \`dry_run\`, nothing is done, and the response has the expected result.${note}`,
    request: {
      body: jsonBody(BULK_ACTION_INPUT, {
        filter: { status: 'ERROR', failure_cause: ['OOM_KILLED'], created_after: '2026-11-21T00:00:00Z' },
        overrides: { resource_slots: [{ slot: 'mem', amount: '2g' }] },
        client_key: 'more-memory-2026-11-21',
      }),
    },
    responses: {
      202: json(BulkActionResource, 'The action, with its results so far.'),
      200: json(DryRunResource, 'For a dry run: the expected result.'),
      ...COMMON_PROBLEMS,
      ...problems(...BODY_PROBLEMS, 'CLIENT_KEY_REUSED'),
    },
  })
}

function abortRoute(base: Base) {
  const { note, ...common } = commonOf(base)
  return createRoute({
    ...common,
    method: 'post',
    path: `${base}/{id}/abort`,
    operationId: OPERATIONS[base].abort,
    summary: 'Abort an action on many sessions',
    description: `Sessions that are done stay so; the rest is not done.${note}`,
    request: { params: BulkActionIdParameter },
    responses: {
      200: json(BulkActionResource, 'The action after the change.'),
      ...COMMON_PROBLEMS,
      ...problems('RESUBMISSION_NOT_FOUND', 'RESUBMISSION_FINISHED'),
    },
  })
}

const oneRoute = createRoute({
  method: 'post',
  path: '/v2/sessions/{id}/resubmit',
  operationId: 'resubmitSession',
  summary: 'Resubmit a session',
  description:
    'Creates a new attempt of its chain, in a new epoch, with a new retry budget. With `{}` nothing differs from the last attempt.',
  tags: ['sessions'],
  request: {
    params: SessionIdParameter,
    body: jsonBody(SINGLE_RESUBMISSION_INPUT, { overrides: { environ: [{ name: 'RATE', value: '0.1' }] } }),
  },
  responses: {
    201: json(SessionResource, 'The new attempt.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'CLIENT_KEY_REUSED', ...REFUSALS),
  },
})

function serveAt(app: RestApp, base: Base): void {
  app.openapi(listRoute(base), async (c) => {
    const { limit, cursor, action = null } = c.req.valid('query')
    const page = { first: limit, after: cursor ?? null }
    const body = toPage(await readResubmissions(c.get('context'), { actions: action, page }), toBulkAction)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(getRoute(base), async (c) => {
    return c.json(toBulkAction(await readResubmission(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(itemsRoute(base), async (c) => {
    const { limit, cursor, status = null } = c.req.valid('query')
    const { id } = c.req.valid('param')
    const page = { first: limit, after: cursor ?? null }
    const body = toPage(await readItemPage(c.get('context'), { id, status, page }), toItem)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(beginRoute(base), async (c) => {
    const context = { ...c.get('context'), sync: NO_SYNC_POINTS }
    assertMayChange(context.viewer)
    const { action, input } = givenAction(await readJsonObject(c.env.incoming))
    const answer =
      action === 'RESUBMIT' ? await resubmitSessions(context, input) : await actOnSessions(context, action, input)
    if ('dryRun' in answer) return c.json(toDryRun(answer.dryRun), 200)
    const record = toBulkAction(await readResubmission(context, answer.resubmissionId))
    return c.json(record, 202, { Location: `${base}/${record.id}` })
  })
  app.openapi(abortRoute(base), async (c) => {
    const context = c.get('context')
    const { resubmissionId } = await abortResubmission(context, { resubmissionId: c.req.valid('param').id })
    return c.json(toBulkAction(await readResubmission(context, resubmissionId)), 200)
  })
}

export function serveBulkActions(app: RestApp): void {
  serveAt(app, '/v2/bulk-actions')
  serveAt(app, '/v2/resubmissions')
  app.openapi(oneRoute, async (c) => {
    const context = { ...c.get('context'), sync: NO_SYNC_POINTS }
    assertMayChange(context.viewer)
    const given = writtenInput(await readJsonObject(c.env.incoming)) as object
    const input = { ...given, sessionIds: [c.req.valid('param').id], filter: null, chainFilter: null, dryRun: null }
    const answer = await resubmitSessions(context, input)
    if ('dryRun' in answer) throw new Error('nobody asked for a dry run')
    const { sessionIds, refused } = await showResubmission(context, answer.resubmissionId)
    if (refused[0]) {
      const { code, message, childSessionId: id } = refused[0]
      throw new RepriseError(code, message, [], id === null ? null : { type: 'Session', id })
    }
    const session = toSession(await readSession(context, sessionIds[0]!))
    return c.json(session, 201, { Location: `/v2/sessions/${session.id}` })
  })
}
