import { createRoute, z } from '@hono/zod-openapi'
import { DEPLOYMENT_STATUSES } from '../../domain/deployment/statuses.ts'
import { describeDeployment, describeDeployments, endpointsOfDeployment } from '../../services/describe-deployments.ts'
import { ANYWAY, json, problems } from '../answers.ts'
import { DeploymentResource, EndpointList, toDeployment, toEndpoints } from '../resources/deployment.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS } from './paging.ts'
import { DeploymentIdParameter, moment, several } from './parameters.ts'

const DeploymentPage = z
  .object({
    items: z.array(DeploymentResource),
    next_cursor: z.string().nullable().openapi({ description: 'For `cursor`; null on the last page.' }),
  })
  .openapi('DeploymentPage')

const list = createRoute({
  method: 'get',
  path: '/v2/deployments',
  operationId: 'listDeployments',
  summary: 'List deployments',
  description: 'Newest first, those that are destroyed, too. All filters that are given must match.',
  tags: ['deployments'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      status: several(DEPLOYMENT_STATUSES, 'In one of these statuses.'),
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      name: z.string().optional().openapi({ description: 'With this name.' }),
      created_after: moment('Created then or later.'),
      created_before: moment('Created before then.'),
    }),
  },
  responses: {
    200: json(DeploymentPage, 'A page of deployments; the header `Link` says where the next one is.'),
    ...ANYWAY,
  },
})

export function serveListDeployments(app: RestApp): void {
  app.openapi(list, async (c) => {
    const { limit, cursor, status, project, name, created_after: gte, created_before: lt } = c.req.valid('query')
    const { edges, pageInfo } = await describeDeployments(c.get('context'), {
      filter: {
        status: status ?? null,
        project: project ?? null,
        name: { equals: name ?? null },
        createdAt: { gte: gte ?? null, lt: lt ?? null },
      },
      page: { first: limit, after: cursor ?? null },
    })
    const nextCursor = pageInfo.hasNextPage ? pageInfo.endCursor : null
    const body = { items: edges.map(({ node }) => toDeployment(node)), next_cursor: nextCursor }
    return c.json(body, 200, nextLink(c.req.url, nextCursor))
  })
}

const get = createRoute({
  method: 'get',
  path: '/v2/deployments/{id}',
  operationId: 'getDeployment',
  summary: 'One deployment',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter },
  responses: { 200: json(DeploymentResource, 'The deployment.'), ...ANYWAY, ...problems('DEPLOYMENT_NOT_FOUND') },
})

export function serveGetDeployment(app: RestApp): void {
  app.openapi(get, async (c) => {
    return c.json(toDeployment(await describeDeployment(c.get('context'), c.req.valid('param').id)), 200)
  })
}

const endpoints = createRoute({
  method: 'get',
  path: '/v2/deployments/{id}/endpoints',
  operationId: 'listEndpoints',
  summary: 'Where the healthy routes of a deployment serve',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter },
  responses: {
    200: json(EndpointList, 'All endpoints, oldest first.'),
    ...ANYWAY,
    ...problems('DEPLOYMENT_NOT_FOUND'),
  },
})

export function serveListEndpoints(app: RestApp): void {
  app.openapi(endpoints, async (c) => {
    return c.json(toEndpoints(await endpointsOfDeployment(c.get('context'), c.req.valid('param').id)), 200)
  })
}
