import type { AirflowExplanation } from '../../../../domain/retry/airflow/airflow-policy.ts'
import type { AirflowRetry } from '../../../../domain/retry/airflow/airflow-schedule.ts'
import { previewAirflowPolicy, type AirflowPolicyPreview } from '../../../../services/retry/preview-airflow-policy.ts'
import { builder } from '../../../builder.ts'
import { RetryPolicyType, shownPolicy } from '../retry-policy.types.ts'
import { AirflowSettingsInput } from './retry-preview-airflow.inputs.ts'
import { PlannedRetryType } from './retry-preview.queries.ts'

const AirflowRetryType = builder.objectRef<AirflowRetry>('AirflowRetry').implement({
  description: 'A retry as Airflow would make it.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: '1-based.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      description: 'Its delay: exact if the task was given, otherwise without jitter.',
    }),
    earliestSeconds: t.exposeFloat('earliestSeconds', { description: 'Its delay at least.' }),
    latestSeconds: t.exposeFloat('latestSeconds', { description: 'Its delay at most.' }),
    elapsedSeconds: t.exposeFloat('elapsedSeconds', { description: 'All delays up to it together.' }),
  }),
})

const AirflowExplanationType = builder.objectRef<AirflowExplanation>('AirflowExplanation').implement({
  description: 'How a policy compares with the Airflow settings that it was derived from, one sentence each.',
  fields: (t) => ({
    alike: t.exposeStringList('alike', { description: 'What behaves as in Airflow.' }),
    differs: t.exposeStringList('differs', { description: 'What behaves differently.' }),
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
    explanation: t.expose('explanation', { type: AirflowExplanationType, description: 'How it compares.' }),
    airflowDelays: t.expose('airflowDelays', {
      type: [AirflowRetryType],
      description: 'When Airflow retries; at most as many retries as a policy can have.',
    }),
    schedule: t.expose('schedule', { type: [PlannedRetryType], description: 'When the policy retries.' }),
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
