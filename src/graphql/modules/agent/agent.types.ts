import type { ObservedGpu } from '../../../domain/gpu.ts'
import type { AgentWarning } from '../../../domain/warning.ts'
import type { Volume } from '../../../services/agent/agents.ts'
import { AGENTS_BY_NAME } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { BY_ID_NEWEST } from '../../loaders/agent-loaders.ts'
import { loadSession, loadSessionsById } from '../../loaders/load-session.ts'
import { loadNodes } from '../../loaders/loader-kinds.ts'
import { forwardArguments, nestedPage, pageInterfaces } from '../../paging.ts'
import { ResourceGroupType, utilisation } from '../resource-group.types.ts'
import { historyField, SchedulingHistory } from '../session/history.types.ts'
import { SESSION_PAGE, SessionNode } from '../session/session.types.ts'
import { FailureCountType } from '../session/statistics.operations.ts'
import { Label, labelsOf } from '../session/values.types.ts'
import { KernelNode } from './kernel.types.ts'

export const AgentStatusEnum = builder.enumType('AgentStatus', {
  description: 'The state of an agent.',
  values: {
    ALIVE: { description: 'It responds and accepts work.' },
    SUSPECT: { description: 'It has been silent for a while and gets no new work.' },
    LOST: { description: 'It has been silent for so long that the server has given up its kernels.' },
    DRAINING: { description: 'It finishes its kernels and accepts no new work.' },
    TERMINATED: { description: 'Gone for good.' },
  } as const,
})

const AgentSlotType = builder.prismaObject('AgentSlot', {
  description: 'Capacity and use of one resource of an agent.',
  select: { agentId: true, slot: true },
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'The resource: `cpu`, `mem`, `cuda.device`, …' }),
    capacity: t.string({
      description: 'Total amount, as a plain decimal; bytes for memory.',
      select: { capacity: true },
      resolve: ({ capacity }) => capacity.toFixed(),
    }),
    used: t.string({
      description: 'Amount allocated to kernels.',
      select: { used: true },
      resolve: ({ used }) => used.toFixed(),
    }),
    utilisation: t.float({
      description: 'Allocated share, 0 to 1; 0 if there is no capacity.',
      select: { used: true, capacity: true },
      resolve: ({ used, capacity }) => utilisation(used.toFixed(), capacity.toFixed()),
    }),
  }),
})

interface HeldGpu extends ObservedGpu {
  agentId: string
}

const AgentGpuType = builder.objectRef<HeldGpu>('AgentGpu').implement({
  description: 'A GPU of an agent, or a MIG instance of one, as the agent last saw it.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'The resource that it counts for: `cuda.device` or `rocm.device`.' }),
    uuid: t.exposeString('uuid', {
      description: 'Its id, from the driver. Made up for a GPU of a cluster that no session has.',
    }),
    index: t.exposeInt('index', { description: 'Its number on its machine, from 0.' }),
    name: t.exposeString('name', { description: 'Its model.' }),
    memoryBytes: t.expose('memoryBytes', { type: 'Bytes', nullable: true, description: 'Its memory.' }),
    fault: t.exposeString('fault', {
      nullable: true,
      description: 'Why it is out of service, so that no kernel gets it. Null if it is in service.',
    }),
    inUse: t.boolean({
      description: 'Whether a session has it.',
      resolve: async ({ agentId, uuid }, _args, { loaders }) => (await loaders.gpuHolders.load(agentId)).has(uuid),
    }),
    sessions: t.field({
      type: [SessionNode],
      description:
        'The sessions that have it, more than one only if its agent shares GPUs; only those that you may see.',
      resolve: async ({ agentId, uuid }, _args, context, info) => {
        const ids = (await context.loaders.gpuHolders.load(agentId)).get(uuid) ?? []
        const found = await Promise.all(ids.map((value) => loadSession({ context, info, by: 'id', value })))
        return found.filter((session) => session !== null)
      },
    }),
    temperatureCelsius: t.exposeFloat('temperatureCelsius', {
      nullable: true,
      description: 'Its temperature in degrees Celsius.',
    }),
    usedMemoryBytes: t.expose('usedMemoryBytes', { type: 'Bytes', nullable: true, description: 'Its memory in use.' }),
    utilization: t.exposeFloat('utilization', {
      nullable: true,
      description: 'Share of the last sample period in which it computed, from 0 to 1.',
    }),
  }),
})

const KernelConnection = builder.connectionObject(
  { type: KernelNode, name: 'KernelConnection', description: 'A page of kernels.' },
  { name: 'KernelEdge', description: 'One kernel with its cursor.' },
)

const AgentSessionConnection = builder.connectionObject(
  {
    type: SessionNode,
    name: 'AgentSessionConnection',
    description: 'A page of the sessions on an agent.',
    interfaces: [SESSION_PAGE.page],
  },
  { name: 'AgentSessionEdge', description: 'One session with its cursor.', interfaces: [SESSION_PAGE.edge] },
)

const pageCost = ({ first }: { first?: number | null }) => ({ field: 1, multiplier: first ?? 20 })

export const AgentNode = builder.prismaNode('Agent', {
  description: 'A node that runs kernels.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id) => ({ id: isUuid(id) ? id : NO_UUID }),
  select: { id: true },
  fields: (t) => ({
    agentId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, for people; several agents may have the same name.' }),
    status: t.expose('status', { type: AgentStatusEnum, description: 'Its state.' }),
    resourceGroup: t.relation('group', { description: 'The resource group that it belongs to.' }),
    slots: t.field({
      type: [AgentSlotType],
      description: 'Its resources.',
      select: (_args, _context, nestedSelection) => ({ slots: nestedSelection({ orderBy: { slot: 'asc' } }) }),
      resolve: ({ slots }) => slots,
    }),
    labels: t.field({
      type: [Label],
      description: 'Labels given by its operator.',
      select: { labels: true },
      resolve: ({ labels }) => labelsOf(labels),
    }),
    isolation: t.exposeString('isolation', {
      nullable: true,
      description:
        'How its kernels are isolated from the agent and from each other: `namespaces+user`, `namespaces`, `user` or `none`; `noop` if it runs nothing. Null if the version of the agent does not report it.',
    }),
    gpus: t.field({
      type: [AgentGpuType],
      description:
        'The GPUs that it assigns to kernels, in the order of their indexes, or those of its cluster. Their figures are updated every minute, and every 15 s while one is in use.',
      select: { gpus: true },
      resolve: ({ id, gpus }) =>
        ((gpus ?? []) as unknown as ObservedGpu[]).map((gpu): HeldGpu => ({ ...gpu, agentId: id })),
    }),
    gpuSharing: t.exposeInt('gpuSharing', {
      nullable: true,
      description: 'How many kernels may share one of its GPUs; null if each has its own.',
    }),
    gpuFault: t.exposeString('gpuFault', {
      nullable: true,
      description: 'Why it cannot see its GPUs now. Null if it can, or has none.',
    }),
    refuses: t.exposeString('refuses', {
      nullable: true,
      description:
        'Why it accepts no new kernels at present, although it is alive: its disk is full, or it cannot isolate kernels as before. Null while it accepts them.',
    }),
    warnings: t.stringList({
      description:
        'What its operator should know: what it cannot bound, isolate or enforce. It reported these when it last registered; it runs kernels all the same.',
      select: { warnings: true },
      resolve: ({ warnings }) => ((warnings ?? []) as unknown as AgentWarning[]).map(({ text }) => text),
    }),
    drainReason: t.exposeString('drainReason', {
      nullable: true,
      description: 'Why it was drained, as given by the person who drained it.',
    }),
    drainedAt: t.expose('drainedAt', { type: 'DateTime', nullable: true, description: 'When it was drained.' }),
    schedulingHistory: t.field(historyField(t, 'When it registered, was lost and was drained, oldest first.')),
    version: t.exposeString('version', { description: 'Version of its program.' }),
    embedded: t.exposeBoolean('embedded', {
      description: 'Whether it runs within the process of a server. Only that server receives its reports.',
    }),
    registeredAt: t.expose('registeredAt', { type: 'DateTime', description: 'When it first registered.' }),
    lastHeardAt: t.expose('lastHeardAt', {
      type: 'DateTime',
      description: 'When a server last received a report of it.',
    }),
    kernels: t.field({
      type: KernelConnection,
      description:
        'The present kernels of the agent, newest first: it holds resources for them, or has not confirmed that they are gone. Only kernels of sessions that you may see.',
      args: forwardArguments(t),
      complexity: pageCost,
      resolve: ({ id }, args, context, info) => {
        const { loaders } = context
        return nestedPage({
          id,
          args,
          order: BY_ID_NEWEST,
          loader: loaders.agentKernels,
          nodes: (ids) => loadNodes(loaders.kernelNodes, { context, info, typeName: 'Kernel' }, ids),
          count: () => loaders.agentKernelCount.load(id),
        })
      },
    }),
    sessions: t.field({
      type: AgentSessionConnection,
      description:
        'The sessions of these kernels, newest first. `sessions(filter: {agent})` also lists those that have ended.',
      args: forwardArguments(t),
      complexity: pageCost,
      resolve: ({ id }, args, context, info) =>
        nestedPage({
          id,
          args,
          order: BY_ID_NEWEST,
          loader: context.loaders.agentSessions,
          nodes: (ids) => loadSessionsById({ context, info, path: ['edges', 'node'] }, ids),
          count: () => context.loaders.agentSessionCount.load(id),
        }),
    }),
  }),
})

export const AGENT_PAGE = pageInterfaces('Agent', AgentNode)

const GroupAgentConnection = builder.connectionObject(
  {
    type: AgentNode,
    name: 'ResourceGroupAgentConnection',
    description: 'A page of the agents of a resource group.',
    interfaces: [AGENT_PAGE.page],
  },
  { name: 'ResourceGroupAgentEdge', description: 'One agent with its cursor.', interfaces: [AGENT_PAGE.edge] },
)

builder.prismaObjectField(ResourceGroupType, 'agents', (t) =>
  t.field({
    type: GroupAgentConnection,
    description: 'Its agents, ordered by name.',
    args: forwardArguments(t),
    complexity: pageCost,
    resolve: ({ name }, args, context, info) => {
      const { loaders } = context
      return nestedPage({
        id: name,
        args,
        order: AGENTS_BY_NAME,
        loader: loaders.groupAgents,
        nodes: (ids) => loadNodes(loaders.agentNodes, { context, info, typeName: 'Agent' }, ids),
        count: () => loaders.groupAgentCount.load(name),
      })
    },
  }),
)

builder.objectField(FailureCountType, 'agent', (t) =>
  t.prismaField({
    type: AgentNode,
    nullable: true,
    description: 'This agent.',
    // Prisma reads all that are requested in the same tick with one statement.
    resolve: (query, { agentId: id }, _args, { services }) =>
      id === undefined ? null : services.prisma.agent.findUnique({ ...query, where: { id } }),
  }),
)

export const VolumeType = builder.objectRef<Volume>('Volume').implement({
  description: 'A directory on agents that kernels can mount by its name.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, which sessions use in `mounts`.' }),
    readOnly: t.exposeBoolean('readOnly', { description: 'Whether it is read-only for kernels on every agent.' }),
    resourceGroups: t.exposeStringList('resourceGroups', { description: 'Resource groups whose agents have it.' }),
    agents: t.exposeInt('agents', { description: 'Number of live agents that have it.' }),
  }),
})

builder.objectField(SchedulingHistory, 'agents', (t) =>
  t.prismaField({
    type: [AgentNode],
    description:
      'The agents that it concerns, as far as they still exist: those that were chosen, or that had success, or that caused the failure.',
    resolve: async (query, { agentIds }, _args, { loaders }) => {
      const queryKey = JSON.stringify(query)
      const found = await Promise.all((agentIds ?? []).map((id) => loaders.agentNodes.load({ id, query, queryKey })))
      return found.filter((agent) => agent !== null)
    },
  }),
)
