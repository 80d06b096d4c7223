import { readRetrySwitches } from '../../../services/retry/read-retry-switches.ts'
import { builder } from '../../builder.ts'
import { RetrySwitchType } from './retry-switch.type.ts'

builder.queryField('retrySwitches', (t) =>
  t.field({
    type: [RetrySwitchType],
    description: "Switches in effect, widest scope first: all, or those that apply to the token's project.",
    resolve: (_root, _args, context) => readRetrySwitches(context),
  }),
)
