import { CHAIN_STATES } from '../../../domain/chain/outlook.ts'
import { countChainStates, findChainOfSession, readChainPage } from '../../../services/chain.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { builder } from '../../builder.ts'
import { pageComplexity } from '../../paging.ts'
import { chainConditions, ChainFilter, ChainOrderInput, wantedOrder } from './chain.inputs.ts'
import { ChainNode, ChainStateCountType } from './chain.types.ts'

builder.queryField('chain', (t) =>
  t.field({
    type: ChainNode,
    nullable: true,
    description: 'One chain; null if there is none that you may see. Give one of the two arguments.',
    args: {
      id: t.arg({ type: 'UUID', description: 'Its `chainId`.' }),
      sessionId: t.arg({ type: 'UUID', description: 'The id of any of its attempts.' }),
    },
    resolve: async (_root, { id, sessionId }, context) => {
      if ((id == null) === (sessionId == null)) throw argumentError('id', 'Give `id` or `sessionId`.')
      const chainId = id ?? (await findChainOfSession(context, sessionId!))
      return chainId === undefined ? undefined : context.loaders.chains.load(chainId)
    },
  }),
)

builder.queryField('chains', (t) =>
  t.connection(
    {
      type: ChainNode,
      description: 'Chains; by default those with the latest activity first.',
      args: {
        filter: t.arg({ type: ChainFilter, description: 'Only chains that match.' }),
        orderBy: t.arg({ type: ChainOrderInput, description: 'Order of the list.' }),
      },
      complexity: pageComplexity,
      resolve: async (_root, { filter, orderBy, ...args }, context) => {
        const wanted = wantedOrder(orderBy)
        const conditions = chainConditions(filter ?? {})
        const page = await readChainPage(context, { conditions, wanted, args })
        return { ...page, counts: () => countChainStates(context, conditions) }
      },
    },
    {
      name: 'ChainConnection',
      description: 'A page of chains.',
      fields: (fields) => ({
        counts: fields.field({
          type: [ChainStateCountType],
          description:
            "Number of chains that match the filter, by state. The filter's own `state` is ignored. Lists each state once, in the order of `ChainState`.",
          complexity: { field: 1, multiplier: CHAIN_STATES.length },
          resolve: ({ counts }) => counts(),
        }),
      }),
    },
    { name: 'ChainEdge', description: 'One chain with its cursor.' },
  ),
)
