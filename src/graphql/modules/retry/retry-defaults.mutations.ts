import { type RetryDefaults, setRetryDefaults } from '../../../services/retry/set-retry-defaults.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { RetryDefaultsType } from './retry-defaults.type.ts'
import { RetryPolicyInput } from './retry-policy.types.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'

const SetRetryDefaultsInput = builder.inputType('SetRetryDefaultsInput', {
  description: 'Retry policy defaults of a scope.',
  fields: (t) => ({
    scope: t.field({ type: RetryScopeEnum, required: true, description: 'Where.' }),
    name: t.string({ description: 'Of the domain or project; nothing for the cluster.' }),
    policy: t.field({ type: RetryPolicyInput, description: 'Replaces what was set there. Null clears it.' }),
  }),
})

const SetRetryDefaultsPayload = builder
  .objectRef<{ __typename: 'SetRetryDefaultsPayload'; retryDefaults: RetryDefaults }>('SetRetryDefaultsPayload')
  .implement({
    description: 'What is set now.',
    fields: (t) => ({
      retryDefaults: t.expose('retryDefaults', { type: RetryDefaultsType, description: 'What is set now.' }),
    }),
  })

const SetRetryDefaultsResult = builder.unionType('SetRetryDefaultsResult', {
  description: 'What is set now, or an error that the caller can correct.',
  types: [SetRetryDefaultsPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('setRetryDefaults', (t) =>
  t.field({
    type: SetRetryDefaultsResult,
    description:
      'Sets the retry policy defaults for new sessions; for administrators. Existing sessions keep their policy.',
    args: { input: t.arg({ type: SetRetryDefaultsInput, required: true, description: 'What, and where.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'SetRetryDefaultsPayload' as const,
        retryDefaults: await setRetryDefaults(context, input),
      })),
  }),
)
