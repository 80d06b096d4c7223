import { readRetrySwitches } from '../../../services/read-retry-switches.ts'
import { builder } from '../../builder.ts'
import { RetrySwitchType } from './retry-switch.type.ts'

builder.queryField('retrySwitches', (t) =>
  t.field({
    type: [RetrySwitchType],
    description:
      'Switches that have an effect, widest scope first: all, or those that act on the project of the token.',
    resolve: (_root, _args, context) => readRetrySwitches(context),
  }),
)
