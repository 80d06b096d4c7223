import { readSessionStatistics } from '../../../services/session/read-session-statistics.ts'
import { builder } from '../../builder.ts'
import { LabelInput } from '../session/pairs.inputs.ts'
import { SessionStatisticsType } from './session-statistics.type.ts'

builder.queryField('sessionStatistics', (t) =>
  t.field({
    type: SessionStatisticsType,
    description: 'Counts and rates of the sessions that you may see, over at most 31 days and 500 buckets.',
    args: {
      from: t.arg({ type: 'DateTime', description: 'Start of the span; by default a day before the end.' }),
      to: t.arg({ type: 'DateTime', description: 'End of the span, exclusive; by default now.' }),
      bucketSeconds: t.arg.int({ description: 'Length of one bucket; an hour by default.' }),
      project: t.arg.string({ description: 'In the project of this name.' }),
      name: t.arg.string({ description: 'With exactly this name.' }),
      label: t.arg({ type: LabelInput, description: 'With this label.' }),
      resourceGroup: t.arg.string({ description: 'In the resource group of this name.' }),
      user: t.arg.string({ description: 'Of the user of this name.' }),
    },
    resolve: (_root, args, context) => readSessionStatistics(context, args),
  }),
)
