import { createRoute, z } from '@hono/zod-openapi'
import { readAgent, readAgents } from '../../services/agent/read-agents.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, pageOf, toPage } from '../routes/paging.ts'
import { AgentIdParameter, several } from '../routes/parameters.ts'
import { AGENT_STATUSES, AgentResource, toAgent } from './agent.resource.ts'

const listRoute = createRoute({
  method: 'get',
  path: '/v2/agents',
  operationId: 'listAgents',
  summary: 'List agents',
  description: 'By name.',
  tags: ['agents'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      status: several(AGENT_STATUSES, 'In one of these statuses.'),
      resource_group: z.string().optional().openapi({ description: 'In the resource group of this name.' }),
    }),
  },
  responses: { 200: json(pageOf(AgentResource).openapi('AgentPage'), 'A page of agents.'), ...COMMON_PROBLEMS },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/agents/{id}',
  operationId: 'getAgent',
  summary: 'Get an agent',
  tags: ['agents'],
  request: { params: AgentIdParameter },
  responses: { 200: json(AgentResource, 'The agent.'), ...COMMON_PROBLEMS, ...problems('AGENT_NOT_FOUND') },
})

export function serveReadAgents(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, status, resource_group: resourceGroup } = c.req.valid('query')
    const page = await readAgents(c.get('context'), {
      filter: { status, resourceGroup },
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toAgent)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(getRoute, async (c) => c.json(toAgent(await readAgent(c.get('context'), c.req.valid('param').id)), 200))
}
