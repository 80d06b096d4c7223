import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import type { GraphQLContext } from '../context.ts'
import type { OrderColumn } from '../../services/paging/keyset-cursor.ts'

/**
 * What the nodes of a connection need, and the columns of its order, to be spread into `findMany`. Typed as
 * nothing: rows then have the whole model's type, of which Pothos reads only what was selected.
 */
export function edgeQuery(options: {
  context: GraphQLContext
  info: GraphQLResolveInfo
  typeName: string
  order: readonly OrderColumn[]
}): object {
  const { context, info, typeName, order } = options
  const select = Object.fromEntries(order.map(({ column }) => [column, true] as const))
  return queryFromInfo({ context, info, typeName, path: ['edges', 'node'], select })
}
