import { builder } from '../../builder.ts'
import { RetryPolicyInput } from '../retry/retry-policy.inputs.ts'
import { EnvVarInput, ResourceSlotInput } from '../session/pairs.inputs.ts'
import { SessionFilter } from '../session/session.filter.ts'

const ResubmissionOverrides = builder.inputType('ResubmissionOverrides', {
  description:
    'What the new attempts have otherwise than the sessions that failed. It holds for the automatic retries that follow in their epoch, too.',
  fields: (t) => ({
    resourceSlots: t.field({
      type: [ResourceSlotInput],
      description: 'Amounts by slot; the other slots stay. 0 takes a slot away.',
    }),
    batchTimeout: t.float({ description: 'Seconds that user code may run; null takes the limit away.' }),
    environ: t.field({ type: [EnvVarInput], description: 'Variables by name; the other variables stay.' }),
    priority: t.int({ description: '0 to 100; the higher goes first.' }),
    resourceGroup: t.string({ description: 'Where it runs, by name.' }),
    allowAgents: t.field({
      type: ['UUID'],
      description: 'The only agents to run on, in place of the list that there is; an empty list lifts it.',
    }),
    avoidAgents: t.field({
      type: ['UUID'],
      description: 'Agents to stay away from where another fits, in place of those that retries came to avoid.',
    }),
    retryPolicy: t.field({
      type: RetryPolicyInput,
      description: 'Fields of the retry policy; those that are not given stay as they were resolved.',
    }),
  }),
})

export const ResubmitSessionsInput = builder.inputType('ResubmitSessionsInput', {
  description: 'Which failed sessions get a new budget, and what is changed. Either `sessionIds` or `filter`.',
  fields: (t) => ({
    sessionIds: t.field({ type: ['UUID'], description: 'These sessions; at most 100000.' }),
    filter: t.field({
      type: SessionFilter,
      description:
        'The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused.',
    }),
    clientKey: t.string({
      description: 'Your idempotency key, unique in the project: the same key gives the first call’s resubmission.',
    }),
    overrides: t.field({ type: ResubmissionOverrides, description: 'What is changed.' }),
  }),
})

export const AbortResubmissionInput = builder.inputType('AbortResubmissionInput', {
  description: 'Which resubmission to end.',
  fields: (t) => ({
    resubmissionId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
  }),
})
