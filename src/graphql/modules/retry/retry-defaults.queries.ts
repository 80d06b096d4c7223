import { readRetryDefaults } from '../../../services/read-retry-defaults.ts'
import { builder } from '../../builder.ts'
import { RetryDefaultsType } from './retry-defaults.type.ts'

builder.queryField('retryDefaults', (t) =>
  t.field({
    type: [RetryDefaultsType],
    description: 'What is set, widest scope first: for everything, or for what concerns the project of the token.',
    resolve: (_root, _args, context) => readRetryDefaults(context),
  }),
)
