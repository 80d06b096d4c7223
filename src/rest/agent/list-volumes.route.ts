import { createRoute, z } from '@hono/zod-openapi'
import { readVolumes, type Volume } from '../../services/agent/read-volumes.ts'
import { COMMON_PROBLEMS, json } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'

const VolumeList = z
  .object({
    items: z.array(
      z
        .object({
          name: z.string().openapi({ description: 'The name by which sessions ask for it.' }),
          read_only: z.boolean().openapi({ description: 'No agent lets kernels change what is in it.' }),
          resource_groups: z.array(z.string()).openapi({ description: 'Where there are agents that have it.' }),
          agents: z.int().openapi({ description: 'How many agents have it and are alive.' }),
        })
        .openapi('Volume', { description: 'A directory that agents have under a name, for kernels.' }),
    ),
  })
  .openapi('VolumeList')

const route = createRoute({
  method: 'get',
  path: '/v2/volumes',
  operationId: 'listVolumes',
  summary: 'List volumes',
  description: 'Those that sessions of your project may use, by name; for tokens of no project all. At most 1000.',
  tags: ['agents'],
  responses: { 200: json(VolumeList, 'All volumes.'), ...COMMON_PROBLEMS },
})

export function serveListVolumes(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    return c.json({ items: (await readVolumes(context, context.viewer)).map(toVolume) }, 200)
  })
}

function toVolume({ name, readOnly, resourceGroups, agents }: Volume) {
  return { name, read_only: readOnly, resource_groups: resourceGroups, agents }
}
