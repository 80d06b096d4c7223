import { createRoute, z } from '@hono/zod-openapi'
import { DEPLOYMENT_STATUSES } from '../../domain/deployment/statuses.ts'
import { describeDeployments } from '../../services/deployment/describe-deployments.ts'
import { ID_PREFIX_WORDS } from '../../services/input/id-prefix.ts'
import { COMMON_PROBLEMS, json } from '../answers.ts'
import { DeploymentResource, toDeployment } from './deployment.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, pageOf, toPage } from '../routes/paging.ts'
import { moment, several } from '../routes/parameters.ts'

const DeploymentPage = pageOf(DeploymentResource).openapi('DeploymentPage')

const route = createRoute({
  method: 'get',
  path: '/v2/deployments',
  operationId: 'listDeployments',
  summary: 'List deployments',
  description: 'Newest first, including destroyed deployments. All filters that are given must match.',
  tags: ['deployments'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      status: several(DEPLOYMENT_STATUSES, 'In one of these statuses.'),
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      id_prefix: z.string().optional().openapi({ description: ID_PREFIX_WORDS }),
      name: z.string().optional().openapi({ description: 'With this name.' }),
      created_after: moment('Created then or later.'),
      created_before: moment('Created before then.'),
    }),
  },
  responses: {
    200: json(DeploymentPage, 'A page of deployments; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
  },
})

export function serveListDeployments(app: RestApp): void {
  app.openapi(route, async (c) => {
    const {
      limit,
      cursor,
      status,
      project,
      name,
      created_after: gte,
      created_before: lt,
      ...given
    } = c.req.valid('query')
    const page = await describeDeployments(c.get('context'), {
      filter: {
        status: status ?? null,
        project: project ?? null,
        idPrefix: given.id_prefix ?? null,
        name: { equals: name ?? null },
        createdAt: { gte: gte ?? null, lt: lt ?? null },
      },
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toDeployment)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}
