import { compareSessions, type SessionComparison } from '../../../services/insight/compare-sessions.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { SpecDifferenceType } from '../chain/chain-attempts.types.ts'
import { SessionNode } from '../session/session.types.ts'

const LogDifferenceType = builder
  .objectRef<NonNullable<SessionComparison['logDifference']>>('LogDifference')
  .implement({
    description:
      'The first place where two logs say different things, apart from numbers, times, paths and ids. Empty lines do not count.',
    fields: (t) => ({
      leftNumber: t.exposeInt('leftNumber', { description: 'Number of the line in the left log, from 1.' }),
      rightNumber: t.exposeInt('rightNumber', { description: 'Number of the line in the right log, from 1.' }),
      leftLine: t.exposeString('leftLine', {
        nullable: true,
        description: 'The line of the left log; null if it has ended there.',
      }),
      rightLine: t.exposeString('rightLine', {
        nullable: true,
        description: 'The line of the right log; null if it has ended there.',
      }),
      linesBefore: t.exposeStringList('linesBefore', {
        description: 'The last lines before it, as the left log has them; at most 3.',
      }),
      leftLinesAfter: t.exposeStringList('leftLinesAfter', {
        description: 'The next lines of the left log; at most 3.',
      }),
      rightLinesAfter: t.exposeStringList('rightLinesAfter', {
        description: 'The next lines of the right log; at most 3.',
      }),
    }),
  })

const ComparisonType = builder.objectRef<SessionComparison>('SessionComparison').implement({
  description: 'What differs between two sessions.',
  fields: (t) => ({
    left: t.field({
      type: SessionNode,
      description: 'The left session.',
      resolve: ({ leftId: value }, _args, context, info) => loadExistingSession({ context, info, by: 'id', value }),
    }),
    right: t.field({
      type: SessionNode,
      description: 'The right session.',
      resolve: ({ rightId: value }, _args, context, info) => loadExistingSession({ context, info, by: 'id', value }),
    }),
    differences: t.expose('differences', {
      type: [SpecDifferenceType],
      description:
        'Fields of their specifications that differ: `before` of the left session, `after` of the right one.',
    }),
    logDifference: t.expose('logDifference', {
      type: LogDifferenceType,
      nullable: true,
      description:
        'Where the first 256 KiB of the logs of their first kernels differ first; null if they say the same.',
    }),
  }),
})

/** Masking takes up to a quarter of a second. */
const COST = 500

builder.queryField('compareSessions', (t) =>
  t.field({
    type: ComparisonType,
    description: 'Compares two sessions that you may see, such as a failed attempt with `lastSuccess` of its name.',
    args: {
      left: t.arg({ type: 'UUID', required: true, description: 'Id of one session.' }),
      right: t.arg({ type: 'UUID', required: true, description: 'Id of the other session.' }),
    },
    complexity: { field: COST },
    resolve: (_root, { left, right }, context) => compareSessions(context, left, right),
  }),
)

builder.prismaObjectFields(SessionNode, (t) => ({
  lastSuccess: t.field({
    type: SessionNode,
    nullable: true,
    description: 'The last other session of its name that has succeeded; null if there is none.',
    select: { id: true },
    resolve: async ({ id }, _args, context, info) => {
      const value = await context.loaders.lastSuccess.load(id)
      return value === null ? null : loadExistingSession({ context, info, by: 'id', value })
    },
  }),
}))
