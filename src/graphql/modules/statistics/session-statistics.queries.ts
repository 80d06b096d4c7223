import { FAILURE_GROUPS_MAX } from '../../../domain/limits.ts'
import { readFailureGroups } from '../../../services/session/read-failure-groups.ts'
import { readSessionStatistics } from '../../../services/session/read-session-statistics.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { LabelInput } from '../session/pairs.inputs.ts'
import { FailureGroupingEnum, FailureGroupType } from './failure-group.type.ts'
import { SessionStatisticsType } from './session-statistics.type.ts'

/** The span, and which sessions. */
const counted = (t: ArgumentBuilder) => ({
  from: t.arg({ type: 'DateTime', description: 'Start of the span; by default a day before the end.' }),
  to: t.arg({ type: 'DateTime', description: 'End of the span, exclusive; by default now.' }),
  project: t.arg.string({ description: 'In the project of this name.' }),
  name: t.arg.string({ description: 'With exactly this name.' }),
  label: t.arg({ type: LabelInput, description: 'With this label.' }),
  resourceGroup: t.arg.string({ description: 'In the resource group of this name.' }),
  user: t.arg.string({ description: 'Of the user of this name.' }),
})
type ArgumentBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0]

builder.queryField('sessionStatistics', (t) =>
  t.field({
    type: SessionStatisticsType,
    description: 'Counts and rates of the sessions that you may see, over at most 31 days and 500 buckets.',
    args: { ...counted(t), bucketSeconds: t.arg.int({ description: 'Length of one bucket; an hour by default.' }) },
    resolve: (_root, args, context) => readSessionStatistics(context, args),
  }),
)

builder.queryField('failureGroups', (t) =>
  t.field({
    type: [FailureGroupType],
    description:
      'Attempts that failed within at most 31 days, of those that you may see, counted together by what they have in common: the largest groups first.',
    args: {
      by: t.arg({ type: FailureGroupingEnum, required: true, description: 'By what.' }),
      ...counted(t),
      cause: t.arg({ type: [FailureCauseEnum], description: 'For one of these causes.' }),
      first: t.arg.int({ description: `How many groups, at most ${FAILURE_GROUPS_MAX}; 20 by default.` }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: Math.max(1, first ?? 20) }),
    resolve: (_root, { cause, ...args }, context) => readFailureGroups(context, { ...args, causes: cause }),
  }),
)
