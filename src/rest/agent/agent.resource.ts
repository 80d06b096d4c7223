import { z } from '@hono/zod-openapi'
import type { AgentRecord } from '../../services/agent/read-agents.ts'
import { labels, time, toLabels, toTime } from '../resources/fields.ts'

export const AGENT_STATUSES = ['ALIVE', 'SUSPECT', 'LOST', 'DRAINING', 'TERMINATED'] as const

export const AgentResource = z
  .object({
    id: z.uuid(),
    name: z.string().openapi({ description: 'Several agents may have the same.' }),
    status: z.enum(AGENT_STATUSES),
    resource_group: z.string(),
    slots: z.array(z.object({ slot: z.string(), capacity: z.string(), used: z.string() })),
    labels: labels(),
    isolation: z
      .string()
      .nullable()
      .openapi({ description: 'What keeps its kernels from the agent and from each other.' }),
    refuses: z
      .string()
      .nullable()
      .openapi({ description: 'Why it takes no new kernels at present; null while it takes them.' }),
    drain_reason: z.string().nullable(),
    drained_at: time().nullable(),
    version: z.string(),
    embedded: z.boolean().openapi({ description: 'It runs in the process of a server.' }),
    registered_at: time(),
    last_heard_at: time(),
  })
  .openapi('Agent', { description: 'A node that runs kernels.' })

export function toAgent(record: AgentRecord): z.infer<typeof AgentResource> {
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
    refuses: record.refuses,
    drain_reason: record.drainReason,
    drained_at: toTime(record.drainedAt),
    version: record.version,
    embedded: record.embedded,
    registered_at: record.registeredAt.toISOString(),
    last_heard_at: record.lastHeardAt.toISOString(),
  }
}
