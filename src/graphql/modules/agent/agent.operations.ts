import { encodeGlobalID } from '@pothos/plugin-relay'
import { followKernelLogs } from '../../../events/kernel-logs.ts'
import {
  agentWhere,
  type ChangeAgentInput,
  drainAgent,
  readVolumes,
  removeAgent,
  resumeAgent,
  returnGpu,
  takeGpu,
} from '../../../services/agent/agents.ts'
import { assertKernelVisible, behindLogCursor } from '../../../services/agent/kernel-logs.ts'
import { AGENTS_BY_NAME, keysetPage } from '../../../services/paging.ts'
import type { ServiceContext } from '../../../services/service-context.ts'
import { builder } from '../../builder.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error.types.ts'
import { StringFilter } from '../filters.inputs.ts'
import { keyField, mutation } from '../mutation.ts'
import { AGENT_PAGE, AgentNode, AgentStatusEnum, VolumeType } from './agent.types.ts'
import { LogChunk } from './kernel.types.ts'

const AgentFilter = builder.inputType('AgentFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [AgentStatusEnum], description: 'With one of these values.' }),
    resourceGroup: t.string({ description: 'In this resource group.' }),
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
  }),
})

builder.queryField('agent', (t) =>
  t.prismaField({
    type: AgentNode,
    nullable: true,
    description: 'One agent; null if there is none.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `agentId`.' }) },
    resolve: (query, _root, { id }, { services }) => services.prisma.agent.findUnique({ ...query, where: { id } }),
  }),
)

builder.queryField('agents', (t) =>
  t.connection(
    {
      type: AgentNode,
      description: 'The agents, which run kernels, ordered by name.',
      args: { filter: t.arg({ type: AgentFilter, description: 'Only agents that match.' }) },
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
    { name: 'AgentConnection', description: 'A page of agents.', interfaces: [AGENT_PAGE.page] },
    { name: 'AgentEdge', description: 'One agent with its cursor.', interfaces: [AGENT_PAGE.edge] },
  ),
)

builder.queryField('volumes', (t) =>
  t.field({
    type: [VolumeType],
    description:
      'The volumes that sessions of your project may use, ordered by name; all volumes if your token has no project. At most 1000.',
    resolve: (_root, _args, { services, viewer }) => readVolumes(services, viewer),
  }),
)

agentMutation({
  name: 'drainAgent',
  run: drainAgent,
  description:
    'Drains an agent, so that it gets no new work; for administrators. Its kernels keep running. It stays drained over restarts.',
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
    'Removes an agent that is lost or drained and has no kernels; for administrators. The agent registers again if its program is started again.',
})
builder.objectField(RemoveAgentPayload, 'deletedId', (t) =>
  t.id({
    description: 'Its global id, for caches: remove it from lists of agents.',
    resolve: ({ agentId }) => encodeGlobalID('Agent', agentId),
  }),
)

gpuMutation({
  name: 'returnGpu',
  run: returnGpu,
  description:
    'Puts a GPU back into service that its agent has taken out because of a fault, or a person; for administrators. The agent does it within seconds, and takes it out again if it still finds a fault.',
  inputIs: 'The GPU to put back into service.',
})
gpuMutation({
  name: 'takeGpu',
  run: takeGpu,
  description:
    'Takes a GPU out of service, until `returnGpu`; for administrators. The agent does it within seconds, or when it returns. Sessions that have the GPU run on; no other gets it.',
  inputIs: 'The GPU to take out of service.',
})

function gpuMutation(options: {
  name: 'returnGpu' | 'takeGpu'
  run: typeof returnGpu
  description: string
  inputIs: string
}) {
  const { name, run, description, inputIs } = options
  const typeName = name === 'returnGpu' ? 'ReturnGpu' : 'TakeGpu'
  const Input = builder.inputType(`${typeName}Input`, {
    description: inputIs,
    fields: (t) => ({
      agentId: t.field({ type: 'UUID', required: true, description: 'Id of its agent.' }),
      uuid: t.string({ required: true, description: 'Its UUID, as in `Agent.gpus`.' }),
      reason: t.string({ description: 'The reason, for people.' }),
      ...keyField(t),
    }),
  })
  mutation({
    name,
    description,
    input: Input,
    inputDescription: 'The GPU and the reason.',
    payload: agentPayload(typeName),
    errors: [ValidationError, NotFoundError, ForbiddenError],
    result: 'The agent',
    readsReason: true,
    repeatable: true,
    run,
  })
}

function agentMutation(options: {
  name: 'drainAgent' | 'resumeAgent' | 'removeAgent'
  run: (context: ServiceContext, input: ChangeAgentInput) => Promise<{ agentId: string }>
  description: string
}) {
  const { name, run, description } = options
  const typeName = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const Input = builder.inputType(`${typeName}Input`, {
    description: 'The agent to change.',
    fields: (t) => ({
      agentId: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
      reason: t.string({ description: 'The reason, for people.' }),
      ...keyField(t),
    }),
  })
  const Payload = agentPayload(typeName)
  mutation({
    name,
    description,
    input: Input,
    inputDescription: 'The agent and the reason.',
    payload: Payload,
    errors: [ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
    result: 'The agent after the change',
    readsReason: true,
    repeatable: true,
    run,
  })
  return Payload
}

builder.subscriptionField('kernelLogs', (t) =>
  t.field({
    type: LogChunk,
    description:
      'The output of a kernel while it is written, from the beginning or after a cursor. Completes when the kernel has ended.',
    args: {
      kernelId: t.arg({ type: 'UUID', required: true, description: 'Id of the kernel.' }),
      after: t.arg.string({ description: 'Cursor of the last chunk that the client has.' }),
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

function agentPayload(typeName: string) {
  return builder.objectRef<{ agentId: string }>(`${typeName}Payload`).implement({
    description: 'The agent after the change.',
    fields: (t) => ({
      agent: t.prismaField({
        type: AgentNode,
        description: 'The agent after the change.',
        resolve: (query, { agentId }, _args, { services }) =>
          stillThere(services.prisma.agent.findUnique({ ...query, where: { id: agentId } }), 'AGENT_NOT_FOUND'),
      }),
    }),
  })
}
