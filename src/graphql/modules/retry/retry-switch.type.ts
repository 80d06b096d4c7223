import type { RateLimit } from '../../../domain/retry/admit.ts'
import type { RetrySwitchView } from '../../../services/set-retry-switch.ts'
import { builder } from '../../builder.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'

const RateLimitType = builder.objectRef<RateLimit>('RateLimit').implement({
  description: 'A token bucket.',
  fields: (t) => ({
    perSecond: t.exposeFloat('perSecond', { description: 'How many in the long run.' }),
    burst: t.exposeInt('burst', { description: 'How many at once after a quiet time.' }),
  }),
})

export const RetrySwitchType = builder.objectRef<RetrySwitchView>('RetrySwitch').implement({
  description: 'Kill switch and rate limit of retries in one scope. Those of wider scopes act besides it.',
  fields: (t) => ({
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Where it acts.' }),
    name: t.exposeString('name', { nullable: true, description: 'Of the domain or project; null for the cluster.' }),
    disabled: t.exposeBoolean('disabled', { description: 'Whether retries that become due are held.' }),
    disabledUntil: t.expose('disabledUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `disabled` goes back by itself to what held before.',
    }),
    rateLimit: t.expose('rateLimit', { type: RateLimitType, nullable: true, description: 'Null limits nothing.' }),
    rateLimitUntil: t.expose('rateLimitUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When `rateLimit` goes back by itself to what held before.',
    }),
  }),
})
