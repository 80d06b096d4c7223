import type { RateLimit } from '../../../domain/retry/admit.ts'
import {
  BREAKER_COUNT_MAX,
  BREAKER_COUNT_MIN,
  BREAKER_WINDOW_MAX_SECONDS,
  BREAKER_WINDOW_MIN_SECONDS,
} from '../../../domain/limits.ts'
import type { BreakerSetting, SwitchChange } from '../../../domain/retry/retry-state.ts'
import {
  type NamedScope,
  readNamedDefaults,
  readRetryDefaults,
  type RetryDefaults,
  setRetryDefaults,
} from '../../../services/retry/retry-defaults.ts'
import {
  readNamedSwitches,
  readRetrySwitches,
  type RetrySwitchView,
  setRetrySwitch,
} from '../../../services/retry/retry-switches.ts'
import { builder } from '../../builder.ts'
import { inOrderOf, keyParts, nodeKey } from '../../ids.ts'
import { ForbiddenError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation, reasonField } from '../mutation.ts'
import { PartialPolicyType, RetryPolicyInput } from './retry-policy.types.ts'
import { RetryScopeEnum } from './retry.enums.ts'

const SCOPES: readonly string[] = ['CLUSTER', 'DOMAIN', 'PROJECT'] satisfies NamedScope['scope'][]
const keyOf = ({ scope, name }: NamedScope) => nodeKey([scope, name])

/** Reads the scopes in the ids of nodes. Ids of another form are left out. */
function scopesOf(ids: readonly string[]): NamedScope[] {
  const scopes = ids.map(keyParts).filter(([scope]) => SCOPES.includes(scope))
  return scopes.map(([scope, name]) => ({ scope: scope as NamedScope['scope'], name: name === '' ? null : name }))
}

const RetryDefaultsType = builder.node(builder.objectRef<RetryDefaults>('RetryDefaults'), {
  description:
    "Defaults for fields that are missing in a session's policy. For each field, the narrowest scope that defines it takes precedence.",
  id: { resolve: keyOf },
  loadMany: async (ids, context) => inOrderOf(ids, await readNamedDefaults(context, scopesOf(ids)), keyOf),
  fields: (t) => ({
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Kind of the scope that they apply to.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name of the domain or project; null for the cluster.',
    }),
    policy: t.expose('policy', {
      type: PartialPolicyType,
      nullable: true,
      description: 'The defaults of this scope; null if it has none.',
    }),
  }),
})

const RateLimitType = builder.objectRef<RateLimit>('RateLimit').implement({
  description: 'A rate limit, which works as a token bucket.',
  fields: (t) => ({
    perSecond: t.exposeFloat('perSecond', { description: 'Sustained rate per second.' }),
    burst: t.exposeInt('burst', { description: 'Size of a burst after a quiet period.' }),
  }),
})

export const BreakerSettingType = builder.objectRef<BreakerSetting>('RetryBreakerSetting').implement({
  description: 'When the retries of a group of failures are held by themselves, but for single probes.',
  fields: (t) => ({
    failures: t.exposeInt('failures', { description: 'Least number of its failures within the window.' }),
    chains: t.exposeInt('chains', { description: 'Least number of chains with such a failure within the window.' }),
    window: t.exposeInt('window', { description: 'The window, in seconds.' }),
  }),
})

const RetrySwitchChangeType = builder.objectRef<SwitchChange>('RetrySwitchChange').implement({
  description: 'Who set a switch to its present value.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time of the change.' }),
    by: t.exposeString('by', { description: 'Who: the name of the token.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason that this person gave; null if none.',
    }),
  }),
})

const RetrySwitchType = builder.node(builder.objectRef<RetrySwitchView>('RetrySwitch'), {
  description:
    'Kill switch, rate limit and breaker of retries in one scope. The switches of wider scopes apply as well.',
  id: { resolve: keyOf },
  loadMany: async (ids, context) => inOrderOf(ids, await readNamedSwitches(context, scopesOf(ids)), keyOf),
  fields: (t) => ({
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Kind of the scope that it applies to.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name of the domain or project; null for the cluster.',
    }),
    disabled: t.exposeBoolean('disabled', { description: 'Whether due retries are held.' }),
    disabledUntil: t.expose('disabledUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `disabled` automatically returns to its earlier value.',
    }),
    disabledChange: t.expose('disabledChange', {
      type: RetrySwitchChangeType,
      nullable: true,
      description:
        'Who set `disabled` to its present value; null if the value returned automatically or was never set.',
    }),
    rateLimit: t.expose('rateLimit', {
      type: RateLimitType,
      nullable: true,
      description: 'The rate limit; null means no limit.',
    }),
    rateLimitUntil: t.expose('rateLimitUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `rateLimit` automatically returns to its earlier value.',
    }),
    rateLimitChange: t.expose('rateLimitChange', {
      type: RetrySwitchChangeType,
      nullable: true,
      description:
        'Who set `rateLimit` to its present value; null if the value returned automatically or was never set.',
    }),
    breaker: t.expose('breaker', {
      type: BreakerSettingType,
      nullable: true,
      description:
        'When retries of failures that hit many chains are held by themselves; null means never. The setting of the narrowest scope that has one counts.',
    }),
  }),
})

builder.queryField('retryDefaults', (t) =>
  t.field({
    type: [RetryDefaultsType],
    description:
      "The retry policy defaults that are set, widest scope first: all, or those that apply to the token's project.",
    resolve: (_root, _args, context) => readRetryDefaults(context),
  }),
)

const SetRetryDefaultsInput = builder.inputType('SetRetryDefaultsInput', {
  description: 'The retry policy defaults to set for a scope.',
  fields: (t) => ({
    scope: t.field({ type: RetryScopeEnum, required: true, description: 'Kind of the scope that they apply to.' }),
    name: t.string({ description: 'Name of the domain or project; omit it for the cluster.' }),
    policy: t.field({
      type: RetryPolicyInput,
      description: 'The defaults. They replace all earlier ones of the scope; null removes them.',
    }),
    ...reasonField(t),
  }),
})

const SetRetryDefaultsPayload = builder
  .objectRef<{ retryDefaults: RetryDefaults }>('SetRetryDefaultsPayload')
  .implement({
    description: 'The defaults after the change.',
    fields: (t) => ({
      retryDefaults: t.expose('retryDefaults', {
        type: RetryDefaultsType,
        description: 'The defaults after the change.',
      }),
    }),
  })

mutation({
  name: 'setRetryDefaults',
  description:
    'Sets the retry policy defaults for new sessions; for administrators. Existing sessions keep their policy.',
  input: SetRetryDefaultsInput,
  inputDescription: 'The defaults, and their scope.',
  payload: SetRetryDefaultsPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The defaults after the change',
  run: async (context, input) => ({ retryDefaults: await setRetryDefaults(context, input) }),
})

builder.queryField('retrySwitches', (t) =>
  t.field({
    type: [RetrySwitchType],
    description: "The retry switches in effect, widest scope first: all, or those that apply to the token's project.",
    resolve: (_root, _args, context) => readRetrySwitches(context),
  }),
)

const RateLimitInput = builder.inputType('RateLimitInput', {
  description: 'A rate limit, which works as a token bucket.',
  fields: (t) => ({
    perSecond: t.float({ required: true, description: 'Sustained rate per second, up to 100000.' }),
    burst: t.int({ required: true, description: 'Size of a burst after a quiet period, 1 to 100000.' }),
  }),
})

const BreakerSettingInput = builder.inputType('RetryBreakerSettingInput', {
  description: 'When the retries of a group of failures are held by themselves, but for single probes.',
  fields: (t) => ({
    failures: t.int({
      required: true,
      description: `Least number of its failures within the window, ${BREAKER_COUNT_MIN} to ${BREAKER_COUNT_MAX}.`,
    }),
    chains: t.int({
      required: true,
      description: `Least number of chains with such a failure within the window, ${BREAKER_COUNT_MIN} to ${BREAKER_COUNT_MAX}.`,
    }),
    window: t.int({
      required: true,
      description: `The window, in seconds, ${BREAKER_WINDOW_MIN_SECONDS} to ${BREAKER_WINDOW_MAX_SECONDS}.`,
    }),
  }),
})

const SetRetrySwitchInput = builder.inputType('SetRetrySwitchInput', {
  description: 'The changes of a switch. Missing fields stay as they are.',
  fields: (t) => ({
    scope: t.field({ type: RetryScopeEnum, required: true, description: 'Kind of the scope that it applies to.' }),
    name: t.string({ description: 'Name of the domain or project; omit it for the cluster.' }),
    disabled: t.boolean({ description: 'Whether due retries are held. False releases them gradually.' }),
    rateLimit: t.field({
      type: RateLimitInput,
      description: 'The rate limit: retries beyond it are held until it allows them. Null removes the limit.',
    }),
    breaker: t.field({
      type: BreakerSettingInput,
      description:
        'When retries of failures that hit many chains are held by themselves. It has no end; null removes it.',
    }),
    until: t.field({
      type: 'DateTime',
      description: 'When this change is automatically undone. If missing, the change is permanent.',
    }),
    reason: t.string({ description: 'The reason, for people.' }),
  }),
})

const SetRetrySwitchPayload = builder.objectRef<{ retrySwitch: RetrySwitchView }>('SetRetrySwitchPayload').implement({
  description: 'The switch after the change.',
  fields: (t) => ({
    retrySwitch: t.expose('retrySwitch', { type: RetrySwitchType, description: 'The switch after the change.' }),
  }),
})

mutation({
  name: 'setRetrySwitch',
  description:
    'Switches retries off or on, limits their rate, or sets the breaker; for administrators. Every server applies the change at once.',
  input: SetRetrySwitchInput,
  inputDescription: 'The changes, and their scope.',
  payload: SetRetrySwitchPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The switch after the change',
  readsReason: true,
  run: async (context, input) => ({ retrySwitch: await setRetrySwitch(context, input) }),
})
