import type { GraphQLContext } from '../../context.ts'
import { forwardArguments } from '../../paging/forward-arguments.ts'
import { serialPage } from '../../paging/serial-page.ts'
import { SchedulingHistoryConnection } from './history.type.ts'

/** Field `schedulingHistory` of any object with an `id`. One statement for all objects of a page. */
export function historyField(t: Parameters<typeof forwardArguments>[0], description: string) {
  return {
    type: SchedulingHistoryConnection,
    description: `${description} Equal consecutive entries are merged into one with a count.`,
    args: forwardArguments(t),
    complexity: ({ first }: { first?: number | null }) => ({ field: 1, multiplier: first ?? 20 }),
    resolve: (
      { id }: { id: string },
      args: { first?: number | null; after?: string | null },
      context: GraphQLContext,
    ) =>
      serialPage({
        id,
        args,
        loader: context.loaders.history,
        count: () => context.loaders.historyCount.load(id),
      }),
  }
}
