import type { HistoryRow } from '../../../services/session/explain-pending.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import type { PageArguments } from '../../../services/paging.ts'
import { bothWaysArguments, pageComplexity, serialPage } from '../../paging.ts'

const SchedulingResultEnum = builder.enumType('SchedulingResult', {
  description: 'The outcome of one try of a scheduler handler.',
  values: {
    SUCCESS: { description: 'It succeeded.' },
    NEED_RETRY: { description: 'It failed and will be tried again.' },
    EXPIRED: { description: 'It was in its status for longer than its resource group allows.' },
    GIVE_UP: { description: 'It failed too often.' },
    FAILURE: { description: 'It failed and will be handled in another way.' },
    STALE: { description: 'The information about it was too old.' },
    SKIPPED: { description: 'It was skipped: `message` names what it waits for.' },
  } as const,
})

export const SchedulingHistory = builder.objectRef<HistoryRow>('SchedulingHistory').implement({
  description:
    'An action of one scheduler handler on a session, kernel, agent, deployment or route, once or several times in a row.',
  fields: (t) => ({
    phase: t.exposeString('phase', { description: 'The handler.' }),
    fromStatus: t.exposeString('fromStatus', { nullable: true, description: 'The status before.' }),
    toStatus: t.exposeString('toStatus', { nullable: true, description: 'The status after.' }),
    result: t.expose('result', { type: SchedulingResultEnum, description: 'The outcome.' }),
    errorCode: t.exposeString('errorCode', { nullable: true, description: 'Name of the error.' }),
    message: t.exposeString('message', { nullable: true, description: 'Explanation, in words.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of times in a row.' }),
    firstAt: t.expose('firstAt', { type: 'DateTime', description: 'The first time.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'The last time.' }),
  }),
})

const SchedulingHistoryConnection = builder.connectionObject(
  { type: SchedulingHistory, name: 'SchedulingHistoryConnection', description: 'A page of scheduling history.' },
  { name: 'SchedulingHistoryEdge', description: 'One entry with its cursor.' },
)

/**
 * Declares the field `schedulingHistory` of any object with an `id`. One statement reads it for all objects of a page.
 */
export function historyField(t: Parameters<typeof bothWaysArguments>[0], description: string) {
  return {
    type: SchedulingHistoryConnection,
    description: `${description} Equal consecutive entries are merged into one with a count.`,
    args: bothWaysArguments(t),
    complexity: pageComplexity,
    resolve: ({ id }: { id: string }, args: PageArguments, context: GraphQLContext) =>
      serialPage({
        id,
        args,
        loader: context.loaders.history,
        count: () => context.loaders.historyCount.load(id),
      }),
  }
}
