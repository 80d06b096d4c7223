import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import { countChains, findChainOfSession, listChains } from '../../../services/chain/read-chains.ts'
import { builder } from '../../builder.ts'
import { assemblePage } from '../../../services/paging/keyset.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { pageSize } from '../../../services/paging/page-arguments.ts'
import { pageComplexity } from '../../paging/page-complexity.ts'
import { ChainFilter, chainConditions } from './chain.filter.ts'
import { ChainOrderInput, decodeChain, encodeChain, wantedOrder } from './chain.order.ts'
import { ChainNode } from './chain.type.ts'

builder.queryField('chain', (t) =>
  t.field({
    type: ChainNode,
    nullable: true,
    description: 'One chain; null if there is none that you may see. Give one of the two arguments.',
    args: {
      id: t.arg({ type: 'UUID', description: 'Its `chainId`.' }),
      sessionId: t.arg({ type: 'UUID', description: 'Any attempt of it.' }),
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
        filter: t.arg({ type: ChainFilter, description: 'Which chains.' }),
        orderBy: t.arg({ type: ChainOrderInput, description: 'In which order.' }),
      },
      complexity: pageComplexity,
      resolve: async (_root, { filter, orderBy, ...args }, context) => {
        const wanted = wantedOrder(orderBy)
        const { size, backward } = pageSize(args)
        const conditions = chainConditions(filter ?? {})
        const after = decodeChain(wanted, 'after', args.after)
        const before = decodeChain(wanted, 'before', args.before)
        const asOfMs = after?.asOfMs ?? before?.asOfMs ?? Date.now()
        const rows = await listChains(context, {
          conditions,
          order: wanted.order,
          // A page from the end is read in the opposite direction.
          direction: backward === (wanted.direction === 'asc') ? 'desc' : 'asc',
          asOfMs,
          after: present(backward ? before : after),
          before: present(backward ? after : before),
          limit: size + 1,
        })
        return assemblePage({
          args,
          rows,
          cursorOf: (row) => encodeChain(wanted, row, asOfMs),
          count: () => countChains(context, { conditions, countMax: COUNTED_ROWS_MAX + 1 }),
          countMax: COUNTED_ROWS_MAX,
        })
      },
    },
    { name: 'ChainConnection', description: 'A page of chains.' },
    { name: 'ChainEdge', description: 'One chain and its place.' },
  ),
)

function present<T>(value: T | null): T[] {
  return value === null ? [] : [value]
}
