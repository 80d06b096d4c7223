import { builder } from '../../builder.ts'
import { loadNodes } from '../../loaders/loader-kinds.ts'
import { forwardArguments, nestedPage } from '../../paging.ts'
import { AGENTS_BY_NAME } from '../../../services/paging/orders.ts'
import { BY_ID_NEWEST } from '../../loaders/agent-loaders.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { KernelNode } from '../kernel/kernel.type.ts'
import { ResourceGroupType } from '../resource-group/resource-group.type.ts'
import { SessionNode } from '../session/session.types.ts'
import { AgentNode } from './agent.type.ts'

/** Edges between agents, their groups and what runs on them. */

const KernelConnection = builder.connectionObject(
  { type: KernelNode, name: 'KernelConnection', description: 'A page of kernels.' },
  { name: 'KernelEdge', description: 'One kernel and its place.' },
)

const AgentSessionConnection = builder.connectionObject(
  { type: SessionNode, name: 'AgentSessionConnection', description: 'A page of the sessions on an agent.' },
  { name: 'AgentSessionEdge', description: 'One session and its place.' },
)

const GroupAgentConnection = builder.connectionObject(
  { type: AgentNode, name: 'ResourceGroupAgentConnection', description: 'A page of the agents of a resource group.' },
  { name: 'ResourceGroupAgentEdge', description: 'One agent and its place.' },
)

const pageCost = ({ first }: { first?: number | null }) => ({ field: 1, multiplier: first ?? 20 })

builder.prismaObjectFields(AgentNode, (t) => ({
  kernels: t.field({
    type: KernelConnection,
    description:
      'The kernels that it has now, newest first: it holds resources for them, or has not confirmed that they are gone. Of the sessions that you may see.',
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
      'The sessions of these kernels, newest first. `sessions(filter: {agent})` also has those that have ended.',
    args: forwardArguments(t),
    complexity: pageCost,
    resolve: ({ id }, args, context, info) =>
      nestedPage({
        id,
        args,
        order: BY_ID_NEWEST,
        loader: context.loaders.agentSessions,
        nodes: (ids) =>
          Promise.all(ids.map((value) => loadSession({ context, info, by: 'id', value, path: ['edges', 'node'] }))),
        count: () => context.loaders.agentSessionCount.load(id),
      }),
  }),
}))

builder.prismaObjectField(ResourceGroupType, 'agents', (t) =>
  t.field({
    type: GroupAgentConnection,
    description: 'Its agents, by name.',
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
