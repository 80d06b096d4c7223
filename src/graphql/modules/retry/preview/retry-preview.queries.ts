import type { PlannedRetry, RetryPreview } from '../../../../domain/retry/preview.ts'
import { previewRetries } from '../../../../services/retry/preview-retries.ts'
import { builder } from '../../../builder.ts'
import { ResourceSlot, slotsOf } from '../../session/values.types.ts'
import { FailureCauseEnum } from '../retry.enums.ts'
import { RetryPolicyInput } from '../retry-policy.types.ts'

export const PlannedRetryType = builder.objectRef<PlannedRetry>('PlannedRetry').implement({
  description: 'A retry that would follow if every attempt failed in the same way.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: '1-based within the budget.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      description:
        'Its delay, without jitter if that is not known yet. Retries that would start after `maxElapsed` by these are left out.',
    }),
    earliestSeconds: t.exposeFloat('earliestSeconds', { description: 'Its delay at least.' }),
    latestSeconds: t.exposeFloat('latestSeconds', { description: 'Its delay at most.' }),
    elapsedSeconds: t.exposeFloat('elapsedSeconds', { description: 'All delays up to it together.' }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each of its kernels.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    batchTimeout: t.exposeFloat('batchTimeout', {
      nullable: true,
      description: 'Its batch timeout, in seconds; null where there is none, or no session is given.',
    }),
  }),
})

const RetryPolicyPreview = builder.objectRef<RetryPreview>('RetryPolicyPreview').implement({
  description: 'What a policy would do.',
  fields: (t) => ({
    eligible: t.exposeBoolean('eligible', { description: 'Whether such a failure would be retried.' }),
    explanation: t.exposeString('explanation', { description: 'Why, in words.' }),
    schedule: t.expose('schedule', { type: [PlannedRetryType], description: 'The retries that would follow.' }),
  }),
})

builder.queryField('retryPolicyPreview', (t) =>
  t.field({
    type: RetryPolicyPreview,
    description: 'Which retries a policy would give. Creates nothing.',
    args: {
      policy: t.arg({
        type: RetryPolicyInput,
        required: true,
        description: 'Missing fields are those of the session, or the built-in defaults.',
      }),
      cause: t.arg({ type: FailureCauseEnum, description: 'For this failure; without it, for any eligible one.' }),
      exitCode: t.arg.int({ description: 'For this exit code.' }),
      sessionId: t.arg({
        type: 'UUID',
        description: 'The further retries of this session; without it, those of a first attempt.',
      }),
    },
    resolve: (_root, args, context) => previewRetries(context, args),
  }),
)
