import type { RetryDefaults } from '../../../services/retry/set-retry-defaults.ts'
import { builder } from '../../builder.ts'
import { stableId } from '../../ids.ts'
import { PartialPolicyType } from './retry-policy.types.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'

export const RetryDefaultsType = builder.objectRef<RetryDefaults>('RetryDefaults').implement({
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
