import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../uuid.ts'
import { historyField } from '../history/history.field.ts'
import { utilisation } from '../../utilisation.ts'
import { labelsOf, Label } from '../session/pairs.type.ts'

export const AgentStatusEnum = builder.enumType('AgentStatus', {
  description: 'How an agent is doing.',
  values: {
    ALIVE: { description: 'It answers, and takes work.' },
    SUSPECT: { description: 'Not heard for a while; takes no new work.' },
    LOST: { description: 'Not heard for so long that its kernels are given up.' },
    DRAINING: { description: 'Finishes what it has, and takes no new work.' },
    TERMINATED: { description: 'Gone for good.' },
  } as const,
})

const AgentSlotType = builder.prismaObject('AgentSlot', {
  description: 'What an agent has of one resource.',
  select: { agentId: true, slot: true },
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'Which: `cpu`, `mem`, `cuda.device`, …' }),
    capacity: t.string({
      description: 'How much there is, as a plain decimal; bytes for memory.',
      select: { capacity: true },
      resolve: ({ capacity }) => capacity.toFixed(),
    }),
    used: t.string({
      description: 'How much of it is given to kernels.',
      select: { used: true },
      resolve: ({ used }) => used.toFixed(),
    }),
    utilisation: t.float({
      description: 'Share of it that is given to kernels, 0 to 1; 0 where there is none.',
      select: { used: true, capacity: true },
      resolve: ({ used, capacity }) => utilisation(used.toFixed(), capacity.toFixed()),
    }),
  }),
})

export const AgentNode = builder.prismaNode('Agent', {
  description: 'A node that runs kernels.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id) => ({ id: isUuid(id) ? id : NO_UUID }),
  select: { id: true },
  fields: (t) => ({
    agentId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique among agents.' }),
    status: t.expose('status', { type: AgentStatusEnum, description: 'How it is doing.' }),
    resourceGroup: t.relation('group', { description: 'The pool that it belongs to.' }),
    slots: t.field({
      type: [AgentSlotType],
      description: 'What it has.',
      select: (_args, _context, nestedSelection) => ({ slots: nestedSelection({ orderBy: { slot: 'asc' } }) }),
      resolve: ({ slots }) => slots,
    }),
    labels: t.field({
      type: [Label],
      description: 'Words of its operator.',
      select: { labels: true },
      resolve: ({ labels }) => labelsOf(labels),
    }),
    drainReason: t.exposeString('drainReason', {
      nullable: true,
      description: 'Why it takes no new work, as whoever drained it said.',
    }),
    drainedAt: t.expose('drainedAt', { type: 'DateTime', nullable: true, description: 'Since when it is drained.' }),
    schedulingHistory: t.field(historyField(t, 'How it came, went and was drained, oldest first.')),
    version: t.exposeString('version', { description: 'Of its program.' }),
    registeredAt: t.expose('registeredAt', { type: 'DateTime', description: 'When it first came.' }),
    lastHeardAt: t.expose('lastHeardAt', { type: 'DateTime', description: 'When a server last heard it.' }),
  }),
})
