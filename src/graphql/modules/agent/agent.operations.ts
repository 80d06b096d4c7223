import { encodeGlobalID } from '@pothos/plugin-relay'
import { followKernelLogs } from '../../../events/kernel-logs.ts'
import {
  agentWhere,
  type ChangeAgentInput,
  drainAgent,
  readVolumes,
  removeAgent,
  resumeAgent,
} from '../../../services/agent/agents.ts'
import { assertKernelVisible, behindLogCursor } from '../../../services/agent/kernel-logs.ts'
import { AGENTS_BY_NAME, keysetPage } from '../../../services/paging.ts'
import type { ServiceContext } from '../../../services/service-context.ts'
import { builder } from '../../builder.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation } from '../mutation.ts'
import { AgentNode, AgentStatusEnum, VolumeType } from './agent.types.ts'
import { LogChunk } from './kernel.types.ts'

const AgentFilter = builder.inputType('AgentFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [AgentStatusEnum], description: 'With one of these values.' }),
    resourceGroup: t.string({ description: 'In this resource group.' }),
  }),
})

builder.queryField('agents', (t) =>
  t.connection(
    {
      type: AgentNode,
      description: 'The nodes that run kernels, by name.',
      args: { filter: t.arg({ type: AgentFilter, description: 'Which agents.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...args }, context, info) => {
        const { prisma } = context.services
        const wanted = agentWhere(filter ?? {})
        const query = edgeQuery({ context, info, typeName: 'Agent', order: AGENTS_BY_NAME })
        return keysetPage({
          args,
          order: AGENTS_BY_NAME,
          find: ({ where, ...page }) => prisma.agent.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.agent.count({ where: wanted }),
        })
      },
    },
    { name: 'AgentConnection', description: 'A page of agents.' },
    { name: 'AgentEdge', description: 'One agent and its place.' },
  ),
)

builder.queryField('volumes', (t) =>
  t.field({
    type: [VolumeType],
    description:
      'The volumes that sessions of your project may use, by name; for tokens of no project all. At most 1000.',
    resolve: (_root, _args, { services, viewer }) => readVolumes(services, viewer),
  }),
)

agentMutation({
  name: 'drainAgent',
  run: drainAgent,
  description:
    'Drains an agent: it gets no new work; for administrators. Its kernels keep running, and it stays drained over restarts.',
})
agentMutation({
  name: 'resumeAgent',
  run: resumeAgent,
  description: 'Resumes a drained agent; for administrators.',
})
const RemoveAgentPayload = agentMutation({
  name: 'removeAgent',
  run: removeAgent,
  description:
    'Removes an agent that is lost or drained and has no kernels; for administrators. It comes back when its program is started again.',
})
builder.objectField(RemoveAgentPayload, 'deletedId', (t) =>
  t.id({
    description: 'Its global id, for caches: what shows agents that are there shows it no more.',
    resolve: ({ agentId }) => encodeGlobalID('Agent', agentId),
  }),
)

function agentMutation(options: {
  name: 'drainAgent' | 'resumeAgent' | 'removeAgent'
  run: (context: ServiceContext, input: ChangeAgentInput) => Promise<{ agentId: string }>
  description: string
}) {
  const { name, run, description } = options
  const typeName = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const Input = builder.inputType(`${typeName}Input`, {
    description: 'Which agent.',
    fields: (t) => ({
      agentId: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
      reason: t.string({ description: 'Why, for people.' }),
    }),
  })
  const Payload = builder.objectRef<{ agentId: string }>(`${typeName}Payload`).implement({
    description: 'What it is now.',
    fields: (t) => ({
      agent: t.prismaField({
        type: AgentNode,
        description: 'What it is now.',
        resolve: (query, { agentId }, _args, { services }) =>
          stillThere(services.prisma.agent.findUnique({ ...query, where: { id: agentId } }), 'AGENT_NOT_FOUND'),
      }),
    }),
  })
  mutation({
    name,
    description,
    input: Input,
    inputDescription: 'Which, and why.',
    payload: Payload,
    errors: [ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
    result: 'The present state',
    run,
  })
  return Payload
}

builder.subscriptionField('kernelLogs', (t) =>
  t.field({
    type: LogChunk,
    description:
      'The output of a kernel as it is written, from the beginning or from a cursor on. Completes when the kernel has ended.',
    args: {
      kernelId: t.arg({ type: 'UUID', required: true, description: 'Which kernel.' }),
      after: t.arg.string({ description: "Cursor of the client's last chunk." }),
    },
    subscribe: async (_root, { kernelId, after }, context) => {
      const from = behindLogCursor(after)
      await assertKernelVisible(context, kernelId)
      const { db, topics, logRelay, closing } = context.services
      return authorizedEvents(
        context,
        followKernelLogs({ db, topics, relay: logRelay, kernelId, after: from, closing }),
      )
    },
    resolve: (chunk) => chunk,
  }),
)
