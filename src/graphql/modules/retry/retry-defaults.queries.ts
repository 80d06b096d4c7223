import { readRetryDefaults } from '../../../services/retry/read-retry-defaults.ts'
import { builder } from '../../builder.ts'
import { RetryDefaultsType } from './retry-defaults.type.ts'

builder.queryField('retryDefaults', (t) =>
  t.field({
    type: [RetryDefaultsType],
    description: "The defaults that are set, widest scope first: all, or those that apply to the token's project.",
    resolve: (_root, _args, context) => readRetryDefaults(context),
  }),
)
