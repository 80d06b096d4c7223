import type { RateLimit } from '../../../domain/retry/admit.ts'
import type { SwitchChange } from '../../../domain/retry/switch-state.ts'
import type { RetrySwitchView } from '../../../services/retry/set-retry-switch.ts'
import { builder } from '../../builder.ts'
import { stableId } from '../../ids.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'

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

export const RetrySwitchType = builder.objectRef<RetrySwitchView>('RetrySwitch').implement({
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
