import type { RetryPolicy } from '../../../domain/retry/policy/policy.ts'
import type { RetryDefaults } from '../../../services/retry/set-retry-defaults.ts'
import { builder } from '../../builder.ts'
import { BackoffEnum, FailureCauseEnum, JitterEnum } from './retry.enums.ts'
import { RetryRuleType } from './retry-policy.type.ts'
import { RetryScopeEnum } from './retry-scope.enum.ts'

const PartialPolicyType = builder.objectRef<Partial<RetryPolicy>>('PartialRetryPolicy').implement({
  description: 'Some fields of a retry policy. Fields not listed in `given` are null and come from elsewhere.',
  fields: (t) => ({
    given: t.stringList({
      description: 'Names of the fields that are set here.',
      resolve: (policy) => Object.keys(policy),
    }),
    maxRetries: t.exposeInt('maxRetries', { nullable: true, description: 'As in RetryPolicy.' }),
    retryDelay: t.exposeFloat('retryDelay', { nullable: true, description: 'As in RetryPolicy.' }),
    backoff: t.expose('backoff', { type: BackoffEnum, nullable: true, description: 'As in RetryPolicy.' }),
    backoffMultiplier: t.exposeFloat('backoffMultiplier', { nullable: true, description: 'As in RetryPolicy.' }),
    maxRetryDelay: t.exposeFloat('maxRetryDelay', {
      nullable: true,
      description: 'As in RetryPolicy: null may be given.',
    }),
    jitter: t.expose('jitter', { type: JitterEnum, nullable: true, description: 'As in RetryPolicy.' }),
    jitterRatio: t.exposeFloat('jitterRatio', { nullable: true, description: 'As in RetryPolicy.' }),
    eligibleCauses: t.expose('eligibleCauses', {
      type: [FailureCauseEnum],
      nullable: true,
      description: 'As in RetryPolicy.',
    }),
    emitRetryEvents: t.exposeBoolean('emitRetryEvents', { nullable: true, description: 'As in RetryPolicy.' }),
    maxElapsed: t.exposeFloat('maxElapsed', { nullable: true, description: 'As in RetryPolicy: null may be given.' }),
    countPreStartFailures: t.exposeBoolean('countPreStartFailures', {
      nullable: true,
      description: 'As in RetryPolicy.',
    }),
    maxUncountedRetries: t.exposeInt('maxUncountedRetries', { nullable: true, description: 'As in RetryPolicy.' }),
    trustVerdicts: t.exposeBoolean('trustVerdicts', { nullable: true, description: 'As in RetryPolicy.' }),
    rules: t.expose('rules', { type: [RetryRuleType], nullable: true, description: 'As in RetryPolicy.' }),
  }),
})

export const RetryDefaultsType = builder.objectRef<RetryDefaults>('RetryDefaults').implement({
  description: "Defaults for fields that a session's policy leaves out. Narrower scopes win, field by field.",
  fields: (t) => ({
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Where they are set.' }),
    name: t.exposeString('name', { nullable: true, description: 'Of the domain or project; null for the cluster.' }),
    policy: t.expose('policy', {
      type: PartialPolicyType,
      nullable: true,
      description: 'What is set there; null if nothing is.',
    }),
  }),
})
