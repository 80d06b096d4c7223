import { GraphQLError } from 'graphql'
import type { AirflowExplanation, AirflowRelease, AirflowRetry } from '../../../domain/retry/airflow.ts'
import type { PlannedRetry } from '../../../domain/retry/preview.ts'
import {
  type AirflowPolicyPreview,
  previewAirflowPolicy,
  previewRetries,
  type RetryPolicyPreview as Preview,
} from '../../../services/retry/preview-retries.ts'
import { builder } from '../../builder.ts'
import { ResourceSlot, slotsOf } from '../session/values.types.ts'
import { listSources, PolicySourceType, RetryPolicyInput, RetryPolicyType, shownPolicy } from './retry-policy.types.ts'
import { FailureCauseEnum } from './retry.enums.ts'

const PlannedRetryType = builder.objectRef<PlannedRetry>('PlannedRetry').implement({
  description: 'A retry that would follow if every attempt failed in the same way.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: '1-based within the budget.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      description:
        'Its delay, without jitter if the jitter is not known yet. By these delays, retries that would start after `maxElapsed` are left out.',
    }),
    earliestSeconds: t.exposeFloat('earliestSeconds', { description: 'Its minimum delay.' }),
    latestSeconds: t.exposeFloat('latestSeconds', { description: 'Its maximum delay.' }),
    elapsedSeconds: t.exposeFloat('elapsedSeconds', { description: 'Sum of all delays up to this one.' }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each of its kernels.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    batchTimeout: t.exposeFloat('batchTimeout', {
      nullable: true,
      description: 'Its batch timeout, in seconds; null if there is none, or if no session is given.',
    }),
  }),
})

const RetryPolicyPreview = builder.objectRef<Preview>('RetryPolicyPreview').implement({
  description: 'The retries that a policy would make.',
  fields: (t) => ({
    eligible: t.exposeBoolean('eligible', { description: 'Whether the failure would be retried.' }),
    explanation: t.exposeString('explanation', { description: 'The reason, in words.' }),
    schedule: t.expose('schedule', { type: [PlannedRetryType], description: 'The retries that would follow.' }),
    policy: t.field({
      type: RetryPolicyType,
      description: 'The whole policy.',
      resolve: ({ resolved }) => shownPolicy(resolved),
    }),
    sources: t.field({
      type: [PolicySourceType],
      description: 'The source of each field of the policy.',
      resolve: ({ resolved }) => listSources(resolved.sources),
    }),
  }),
})

builder.queryField('retryPolicyPreview', (t) =>
  t.field({
    type: RetryPolicyPreview,
    description: 'Previews the retries of a policy. Creates nothing.',
    args: {
      policy: t.arg({
        type: RetryPolicyInput,
        required: true,
        description: 'The policy. Missing fields come from the session, or from the defaults, as for a new session.',
      }),
      cause: t.arg({
        type: FailureCauseEnum,
        description: 'Cause of the assumed failure; if missing, any cause that is retried.',
      }),
      exitCode: t.arg.int({ description: 'Exit code of the assumed failure.' }),
      sessionId: t.arg({
        type: 'UUID',
        description: 'Previews the further retries of this session; if missing, those of a first attempt.',
      }),
      project: t.arg.string({
        description:
          'Name of the project of the first attempt. Missing: the only project of the token, or `default`. Not used with `sessionId`.',
      }),
    },
    resolve: (_root, args, context) => previewRetries(context, args),
  }),
)

const AirflowReleaseEnum = builder.enumType('AirflowRelease', {
  description: 'Groups of Airflow releases that compute delays in the same way.',
  values: {
    AIRFLOW_2_5: { description: 'Up to 2.5.3: delays have no limit of 24 hours.' },
    AIRFLOW_2_6: { description: '2.6 to 2.9.' },
    AIRFLOW_2_10: { description: '2.10 to 3.1.' },
    AIRFLOW_3_2: { description: '3.2 and later.' },
  } as const satisfies Record<AirflowRelease, { description: string }>,
})

const AirflowSettingsInput = builder.inputType('AirflowSettingsInput', {
  description: "An Airflow operator's settings. Durations are seconds. Missing settings have Airflow's own defaults.",
  fields: (t) => ({
    release: t.field({ type: AirflowReleaseEnum, description: 'The release whose formula is used; 3.2 if not given.' }),
    retries: t.int({ description: '`retries`; 0 if not given.' }),
    retryDelay: t.float({ description: '`retry_delay`; 300 if not given.' }),
    retryExponentialBackoff: t.field({
      type: 'AirflowBackoff',
      description: '`retry_exponential_backoff`; false if not given.',
    }),
    maxRetryDelay: t.float({ description: '`max_retry_delay`.' }),
    dagId: t.string({ description: 'With `taskId`: computes the jitter that Airflow gives this task.' }),
    taskId: t.string({ description: 'With `dagId`.' }),
    logicalDate: t.string({
      description: "In Python's format: `2026-01-31 00:00:00+00:00`. Omit it for a run without a logical date.",
    }),
  }),
})

const AirflowRetryType = builder.objectRef<AirflowRetry>('AirflowRetry').implement({
  description: 'A retry as Airflow would make it.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: '1-based.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      description: 'Its delay: exact if the task is given, otherwise without jitter.',
    }),
    earliestSeconds: t.exposeFloat('earliestSeconds', { description: 'Its minimum delay.' }),
    latestSeconds: t.exposeFloat('latestSeconds', { description: 'Its maximum delay.' }),
    elapsedSeconds: t.exposeFloat('elapsedSeconds', { description: 'Sum of all delays up to this one.' }),
  }),
})

const AirflowExplanationType = builder.objectRef<AirflowExplanation>('AirflowExplanation').implement({
  description: 'Comparison of a policy with the Airflow settings that it was derived from. Each text is one sentence.',
  fields: (t) => ({
    alike: t.exposeStringList('alike', { description: 'Behaviour that is the same as in Airflow.' }),
    differs: t.exposeStringList('differs', { description: 'Behaviour that differs from Airflow.' }),
  }),
})

const AirflowPolicyPreviewType = builder.objectRef<AirflowPolicyPreview>('AirflowPolicyPreview').implement({
  description: "An Airflow operator's settings as a retry policy, with both schedules side by side.",
  fields: (t) => ({
    policy: t.field({
      type: RetryPolicyType,
      description:
        'The policy. Fields determined by the settings have the source `SESSION`; the others have the built-in defaults.',
      resolve: ({ resolved }) => shownPolicy(resolved),
    }),
    explanation: t.expose('explanation', { type: AirflowExplanationType, description: 'The comparison with Airflow.' }),
    airflowDelays: t.expose('airflowDelays', {
      type: [AirflowRetryType],
      description: 'The retries of Airflow, at most as many as a policy can have.',
    }),
    schedule: t.expose('schedule', { type: [PlannedRetryType], description: 'The retries of the policy.' }),
  }),
})

builder.queryField('airflowPolicyPreview', (t) =>
  t.field({
    type: AirflowPolicyPreviewType,
    description: "Converts an Airflow operator's settings into a retry policy. Creates nothing.",
    args: {
      settings: t.arg({ type: AirflowSettingsInput, required: true, description: "The operator's settings." }),
    },
    resolve: (_root, { settings }) => previewAirflowPolicy(settings),
  }),
)

builder.scalarType('AirflowBackoff', {
  description: "Airflow's `retry_exponential_backoff`: true or false, or since Airflow 3.2 a multiplier.",
  parseValue(value) {
    if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value
    throw new GraphQLError(`AirflowBackoff cannot represent ${JSON.stringify(value)}: it is true, false or a number`)
  },
})
