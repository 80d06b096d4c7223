import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { agentWhere } from '../../../services/agent/read-agents.ts'
import { AGENTS_BY_NAME } from '../../../services/paging/orders.ts'
import { AgentNode, AgentStatusEnum } from './agent.type.ts'

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
