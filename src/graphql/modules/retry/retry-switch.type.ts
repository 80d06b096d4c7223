import type { RateLimit } from '../../../domain/retry/admit.ts'
import type { RetrySwitchView } from '../../../services/retry/set-retry-switch.ts'
import { builder } from '../../builder.ts'
import { stableId } from '../../stable-id.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'

const RateLimitType = builder.objectRef<RateLimit>('RateLimit').implement({
  description: 'A token bucket.',
  fields: (t) => ({
    perSecond: t.exposeFloat('perSecond', { description: 'Sustained rate per second.' }),
    burst: t.exposeInt('burst', { description: 'Size of a burst after a quiet period.' }),
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
    rateLimit: t.expose('rateLimit', { type: RateLimitType, nullable: true, description: 'Null means no limit.' }),
    rateLimitUntil: t.expose('rateLimitUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `rateLimit` reverts by itself to its earlier value.',
    }),
  }),
})
