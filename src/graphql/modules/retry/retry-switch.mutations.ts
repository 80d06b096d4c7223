import { type RetrySwitchView, setRetrySwitch } from '../../../services/retry/set-retry-switch.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'
import { RetrySwitchType } from './retry-switch.type.ts'

const RateLimitInput = builder.inputType('RateLimitInput', {
  description: 'A token bucket.',
  fields: (t) => ({
    perSecond: t.float({ required: true, description: 'Sustained rate per second, up to 100000.' }),
    burst: t.int({ required: true, description: 'Size of a burst after a quiet period, 1 to 100000.' }),
  }),
})

const SetRetrySwitchInput = builder.inputType('SetRetrySwitchInput', {
  description: 'What to change. Missing fields stay as they are.',
  fields: (t) => ({
    scope: t.field({ type: RetryScopeEnum, required: true, description: 'Where.' }),
    name: t.string({ description: 'Of the domain or project; nothing for the cluster.' }),
    disabled: t.boolean({ description: 'Whether due retries are held. False releases them gradually.' }),
    rateLimit: t.field({
      type: RateLimitInput,
      description: 'Retries beyond it are held until the rate allows them. Null removes the limit.',
    }),
    until: t.field({
      type: 'DateTime',
      description: 'When this change reverts by itself. If missing, it is permanent.',
    }),
    reason: t.string({ description: 'Why, for people.' }),
  }),
})

const SetRetrySwitchPayload = builder
  .objectRef<{ __typename: 'SetRetrySwitchPayload'; retrySwitch: RetrySwitchView }>('SetRetrySwitchPayload')
  .implement({
    description: 'What is set now.',
    fields: (t) => ({
      retrySwitch: t.expose('retrySwitch', { type: RetrySwitchType, description: 'What is set now.' }),
    }),
  })

const SetRetrySwitchResult = builder.unionType('SetRetrySwitchResult', {
  description: 'What is set now, or an error that the caller can correct.',
  types: [SetRetrySwitchPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('setRetrySwitch', (t) =>
  t.field({
    type: SetRetrySwitchResult,
    description:
      'Switches retries off and on, or limits their rate, for administrators. Every server acts on it at once.',
    args: { input: t.arg({ type: SetRetrySwitchInput, required: true, description: 'What, and where.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'SetRetrySwitchPayload' as const,
        retrySwitch: await setRetrySwitch(context, input),
      })),
  }),
)
