import type { RateLimit } from '../../../domain/retry/admit.ts'
import type { SwitchChange } from '../../../domain/retry/retry-state.ts'
import { readRetryDefaults, type RetryDefaults, setRetryDefaults } from '../../../services/retry/retry-defaults.ts'
import { readRetrySwitches, type RetrySwitchView, setRetrySwitch } from '../../../services/retry/retry-switches.ts'
import { builder } from '../../builder.ts'
import { stableId } from '../../ids.ts'
import { ForbiddenError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation } from '../mutation.ts'
import { PartialPolicyType, RetryPolicyInput } from './retry-policy.types.ts'
import { RetryScopeEnum } from './retry.enums.ts'

const RetryDefaultsType = builder.objectRef<RetryDefaults>('RetryDefaults').implement({
  description: "Defaults for fields that a session's policy leaves out. Narrower scopes win, field by field.",
  fields: (t) => ({
    id: t.id(stableId('RetryDefaults', ({ scope, name }: RetryDefaults) => [scope, name])),
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Where they are set.' }),
    name: t.exposeString('name', { nullable: true, description: 'Of the domain or project; null for the cluster.' }),
    policy: t.expose('policy', {
      type: PartialPolicyType,
      nullable: true,
      description: 'What is set there; null if nothing is.',
    }),
  }),
})

const RateLimitType = builder.objectRef<RateLimit>('RateLimit').implement({
  description: 'A token bucket.',
  fields: (t) => ({
    perSecond: t.exposeFloat('perSecond', { description: 'Sustained rate per second.' }),
    burst: t.exposeInt('burst', { description: 'Size of a burst after a quiet period.' }),
  }),
})

const RetrySwitchChangeType = builder.objectRef<SwitchChange>('RetrySwitchChange').implement({
  description: 'Who made a switch what it is.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    by: t.exposeString('by', { description: 'By whom: the name of the token.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why, in their words; null if they did not say.' }),
  }),
})

const RetrySwitchType = builder.objectRef<RetrySwitchView>('RetrySwitch').implement({
  description: 'Kill switch and rate limit of retries in one scope. Those of wider scopes apply as well.',
  fields: (t) => ({
    id: t.id(stableId('RetrySwitch', ({ scope, name }: RetrySwitchView) => [scope, name])),
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Where it acts.' }),
    name: t.exposeString('name', { nullable: true, description: 'Of the domain or project; null for the cluster.' }),
    disabled: t.exposeBoolean('disabled', { description: 'Whether due retries are held.' }),
    disabledUntil: t.expose('disabledUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `disabled` reverts by itself to its earlier value.',
    }),
    disabledChange: t.expose('disabledChange', {
      type: RetrySwitchChangeType,
      nullable: true,
      description: 'What made `disabled` what it is; null if that came back by itself, or was never set.',
    }),
    rateLimit: t.expose('rateLimit', { type: RateLimitType, nullable: true, description: 'Null means no limit.' }),
    rateLimitUntil: t.expose('rateLimitUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `rateLimit` reverts by itself to its earlier value.',
    }),
    rateLimitChange: t.expose('rateLimitChange', {
      type: RetrySwitchChangeType,
      nullable: true,
      description: 'What made `rateLimit` what it is; null if that came back by itself, or was never set.',
    }),
  }),
})

builder.queryField('retryDefaults', (t) =>
  t.field({
    type: [RetryDefaultsType],
    description: "The defaults that are set, widest scope first: all, or those that apply to the token's project.",
    resolve: (_root, _args, context) => readRetryDefaults(context),
  }),
)

const SetRetryDefaultsInput = builder.inputType('SetRetryDefaultsInput', {
  description: 'Retry policy defaults of a scope.',
  fields: (t) => ({
    scope: t.field({ type: RetryScopeEnum, required: true, description: 'Where.' }),
    name: t.string({ description: 'Of the domain or project; nothing for the cluster.' }),
    policy: t.field({ type: RetryPolicyInput, description: 'Replaces what was set there. Null clears it.' }),
  }),
})

const SetRetryDefaultsPayload = builder
  .objectRef<{ retryDefaults: RetryDefaults }>('SetRetryDefaultsPayload')
  .implement({
    description: 'What is set now.',
    fields: (t) => ({
      retryDefaults: t.expose('retryDefaults', { type: RetryDefaultsType, description: 'What is set now.' }),
    }),
  })

mutation({
  name: 'setRetryDefaults',
  description:
    'Sets the retry policy defaults for new sessions; for administrators. Existing sessions keep their policy.',
  input: SetRetryDefaultsInput,
  inputDescription: 'What, and where.',
  payload: SetRetryDefaultsPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'What is set now',
  run: async (context, input) => ({ retryDefaults: await setRetryDefaults(context, input) }),
})

builder.queryField('retrySwitches', (t) =>
  t.field({
    type: [RetrySwitchType],
    description: "Switches in effect, widest scope first: all, or those that apply to the token's project.",
    resolve: (_root, _args, context) => readRetrySwitches(context),
  }),
)

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

const SetRetrySwitchPayload = builder.objectRef<{ retrySwitch: RetrySwitchView }>('SetRetrySwitchPayload').implement({
  description: 'What is set now.',
  fields: (t) => ({
    retrySwitch: t.expose('retrySwitch', { type: RetrySwitchType, description: 'What is set now.' }),
  }),
})

mutation({
  name: 'setRetrySwitch',
  description:
    'Switches retries off and on, or limits their rate, for administrators. Every server acts on it at once.',
  input: SetRetrySwitchInput,
  inputDescription: 'What, and where.',
  payload: SetRetrySwitchPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'What is set now',
  run: async (context, input) => ({ retrySwitch: await setRetrySwitch(context, input) }),
})
