import { readGpuHolders } from '../services/agent/gpus.ts'
import { createRoute, z } from '@hono/zod-openapi'
import { GPU_SLOTS, type ObservedGpu } from '../domain/gpu.ts'
import type { AgentWarning } from '../domain/warning.ts'
import { type AgentRecord, readAgent, readAgents, readVolumes, type Volume } from '../services/agent/agents.ts'
import { labels, time, toLabels, toTime } from './fields.ts'
import { COMMON_PROBLEMS, json, nextLink, PAGE_PARAMETERS, pageOf, problems, toPage } from './route-parts.ts'
import type { RestApp } from './rest-app.ts'
import { AgentIdParameter, several } from './parameters.ts'

const AGENT_STATUSES = ['ALIVE', 'SUSPECT', 'LOST', 'DRAINING', 'TERMINATED'] as const

const AgentResource = z
  .object({
    id: z.uuid(),
    name: z.string().openapi({ description: 'Name for people; several agents may have the same name.' }),
    status: z.enum(AGENT_STATUSES),
    resource_group: z.string(),
    slots: z.array(z.object({ slot: z.string(), capacity: z.string(), used: z.string() })),
    labels: labels(),
    isolation: z
      .string()
      .nullable()
      .openapi({ description: 'How its kernels are isolated from the agent and from each other.' }),
    gpus: z
      .array(
        z
          .object({
            slot: z.enum(GPU_SLOTS),
            uuid: z.string(),
            index: z.int(),
            name: z.string(),
            memory_bytes: z.number().nullable(),
            in_use: z.boolean(),
            fault: z
              .string()
              .nullable()
              .openapi({ description: 'Why it is out of service; null if it is in service.' }),
          })
          .openapi('AgentGpu', { description: 'A GPU of an agent, as the agent last saw it.' }),
      )
      .openapi({ description: 'The GPUs that it assigns to kernels.' }),
    refuses: z
      .string()
      .nullable()
      .openapi({ description: 'Why it accepts no new kernels at present; null while it accepts them.' }),
    warnings: z
      .array(z.string())
      .openapi({ description: 'What it cannot bound, isolate or enforce, as reported when it last registered.' }),
    drain_reason: z.string().nullable(),
    drained_at: time().nullable(),
    version: z.string(),
    embedded: z.boolean().openapi({ description: 'Whether it runs within the process of a server.' }),
    registered_at: time(),
    last_heard_at: time(),
  })
  .openapi('Agent', { description: 'A node that runs kernels.' })

const listRoute = createRoute({
  method: 'get',
  path: '/v2/agents',
  operationId: 'listAgents',
  summary: 'List agents',
  description: 'Ordered by name.',
  tags: ['agents'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      status: several(AGENT_STATUSES, 'In one of these statuses.'),
      resource_group: z.string().optional().openapi({ description: 'In the resource group of this name.' }),
      name: z.string().optional().openapi({ description: 'With this name.' }),
      name_contains: z.string().optional().openapi({ description: 'With this text in the name.' }),
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

const VolumeList = z
  .object({
    items: z.array(
      z
        .object({
          name: z.string().openapi({ description: 'Its name, which sessions use in `mounts`.' }),
          read_only: z.boolean().openapi({ description: 'Whether it is read-only for kernels on every agent.' }),
          resource_groups: z.array(z.string()).openapi({ description: 'Resource groups whose agents have it.' }),
          agents: z.int().openapi({ description: 'Number of live agents that have it.' }),
        })
        .openapi('Volume', { description: 'A directory on agents that kernels can mount by its name.' }),
    ),
  })
  .openapi('VolumeList')

const volumesRoute = createRoute({
  method: 'get',
  path: '/v2/volumes',
  operationId: 'listVolumes',
  summary: 'List volumes',
  description:
    'The volumes that sessions of your project may use, ordered by name; all volumes if your token has no project. At most 1000.',
  tags: ['agents'],
  responses: { 200: json(VolumeList, 'The volumes.'), ...COMMON_PROBLEMS },
})

type GpuHolders = Awaited<ReturnType<typeof readGpuHolders>>

export function serveAgents(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, status, resource_group: resourceGroup, ...given } = c.req.valid('query')
    const name = { equals: given.name ?? null, contains: given.name_contains ?? null }
    const page = await readAgents(c.get('context'), {
      filter: { status, resourceGroup, name },
      page: { first: limit, after: cursor ?? null },
    })
    const holders = await readGpuHolders(
      c.get('context'),
      page.edges.map(({ node }) => node.id),
    )
    const body = toPage(page, (agent) => toAgent(agent, holders))
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(getRoute, async (c) => {
    const agent = await readAgent(c.get('context'), c.req.valid('param').id)
    return c.json(toAgent(agent, await readGpuHolders(c.get('context'), [agent.id])), 200)
  })
  app.openapi(volumesRoute, async (c) => {
    const context = c.get('context')
    return c.json({ items: (await readVolumes(context, context.viewer)).map(toVolume) }, 200)
  })
}

function toAgent(record: AgentRecord, holders: GpuHolders): z.infer<typeof AgentResource> {
  return {
    id: record.id,
    name: record.name,
    status: record.status,
    resource_group: record.resourceGroup,
    slots: record.slots.map(({ slot, capacity, used }) => ({
      slot,
      capacity: capacity.toFixed(),
      used: used.toFixed(),
    })),
    labels: toLabels(record.labels),
    isolation: record.isolation,
    gpus: ((record.gpus ?? []) as unknown as ObservedGpu[]).map((gpu) => ({
      slot: gpu.slot,
      uuid: gpu.uuid,
      index: gpu.index,
      name: gpu.name,
      memory_bytes: gpu.memoryBytes,
      in_use: holders.get(record.id)?.has(gpu.uuid) === true,
      fault: gpu.fault,
    })),
    refuses: record.refuses,
    warnings: ((record.warnings ?? []) as unknown as AgentWarning[]).map(({ text }) => text),
    drain_reason: record.drainReason,
    drained_at: toTime(record.drainedAt),
    version: record.version,
    embedded: record.embedded,
    registered_at: record.registeredAt.toISOString(),
    last_heard_at: record.lastHeardAt.toISOString(),
  }
}

function toVolume({ name, readOnly, resourceGroups, agents }: Volume) {
  return { name, read_only: readOnly, resource_groups: resourceGroups, agents }
}
