import { createRoute, z } from '@hono/zod-openapi'
import { SESSION_ACTIONS } from '../../domain/session/session-action.ts'
import { readItemPage, readResubmission, readResubmissions } from '../../services/resubmission/resubmission-records.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, pageOf, toPage } from '../routes/paging.ts'
import { ResubmissionIdParameter, several } from '../routes/parameters.ts'
import {
  ITEM_STATUSES,
  ResubmissionItemResource,
  ResubmissionResource,
  toItem,
  toResubmission,
} from './resubmission.resource.ts'

const listRoute = createRoute({
  method: 'get',
  path: '/v2/resubmissions',
  operationId: 'listResubmissions',
  summary: 'List resubmissions',
  description: 'And other actions on many sessions; newest first.',
  tags: ['resubmissions'],
  request: {
    query: z.strictObject({ ...PAGE_PARAMETERS, action: several(SESSION_ACTIONS, 'Only these actions.') }),
  },
  responses: {
    200: json(pageOf(ResubmissionResource).openapi('ResubmissionPage'), 'A page of them.'),
    ...COMMON_PROBLEMS,
  },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/resubmissions/{id}',
  operationId: 'getResubmission',
  summary: 'Get a resubmission',
  description: 'With its progress: while it is RUNNING, the server continues by itself.',
  tags: ['resubmissions'],
  request: { params: ResubmissionIdParameter },
  responses: {
    200: json(ResubmissionResource, 'As it is now.'),
    ...COMMON_PROBLEMS,
    ...problems('RESUBMISSION_NOT_FOUND'),
  },
})

const itemsRoute = createRoute({
  method: 'get',
  path: '/v2/resubmissions/{id}/items',
  operationId: 'listResubmissionItems',
  summary: 'The sessions of a resubmission',
  description: 'In the order in which they were named, or oldest first if a filter selected them.',
  tags: ['resubmissions'],
  request: {
    params: ResubmissionIdParameter,
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      status: z
        .string()
        .toUpperCase()
        .pipe(z.enum(ITEM_STATUSES))
        .optional()
        .openapi({ type: 'string', enum: [...ITEM_STATUSES], description: 'Only those with this outcome.' }),
    }),
  },
  responses: {
    200: json(pageOf(ResubmissionItemResource).openapi('ResubmissionItemPage'), 'A page of them.'),
    ...COMMON_PROBLEMS,
    ...problems('RESUBMISSION_NOT_FOUND'),
  },
})

export function serveReadResubmissions(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, action = null } = c.req.valid('query')
    const page = { first: limit, after: cursor ?? null }
    const body = toPage(await readResubmissions(c.get('context'), { actions: action, page }), toResubmission)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(getRoute, async (c) => {
    return c.json(toResubmission(await readResubmission(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(itemsRoute, async (c) => {
    const { limit, cursor, status = null } = c.req.valid('query')
    const { id } = c.req.valid('param')
    const page = { first: limit, after: cursor ?? null }
    const body = toPage(await readItemPage(c.get('context'), { id, status, page }), toItem)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}
