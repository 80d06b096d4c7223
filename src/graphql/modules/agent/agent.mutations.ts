import { encodeGlobalID } from '@pothos/plugin-relay'
import { type ChangeAgentInput, drainAgent, removeAgent, resumeAgent } from '../../../services/agent/change-agent.ts'
import type { ServiceContext } from '../../../services/service-context.ts'
import { builder } from '../../builder.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { asResult, ForbiddenError, InvalidStateError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { AgentNode } from './agent.type.ts'

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

interface AgentPayload {
  __typename: string
  agentId: string
}

function agentMutation(mutation: {
  name: 'drainAgent' | 'resumeAgent' | 'removeAgent'
  run: (context: ServiceContext, input: ChangeAgentInput) => Promise<{ agentId: string }>
  description: string
}) {
  const { name, run, description } = mutation
  const typeName = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const Input = builder.inputType(`${typeName}Input`, {
    description: 'Which agent.',
    fields: (t) => ({
      agentId: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
      reason: t.string({ description: 'Why, for people.' }),
    }),
  })
  const Payload = builder.objectRef<AgentPayload>(`${typeName}Payload`).implement({
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
  const Result = builder.unionType(`${typeName}Result`, {
    description: 'The present state, or an error that the caller can correct.',
    types: [Payload, ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
    resolveType: typeOf,
  })
  builder.mutationField(name, (t) =>
    t.field({
      type: Result,
      description,
      args: { input: t.arg({ type: Input, required: true, description: 'Which, and why.' }) },
      resolve: (_root, { input }, context) =>
        asResult(async () => ({ __typename: `${typeName}Payload`, ...(await run(context, input)) })),
    }),
  )
  return Payload
}
