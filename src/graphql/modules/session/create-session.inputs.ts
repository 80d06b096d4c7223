import { builder } from '../../builder.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { EnvVarInput, LabelInput, ResourceSlotInput } from './pairs.inputs.ts'
import { ClusterModeEnum, SessionTypeEnum } from './session.enums.ts'

export const CreateSessionInput = builder.inputType('CreateSessionInput', {
  description: 'What to run, and how.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name; need not be unique.' }),
    sessionType: t.field({ type: SessionTypeEnum, defaultValue: 'BATCH', description: 'What it is for.' }),
    project: t.string({ defaultValue: 'default', description: 'Name of the project.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Name of the resource group to run in.' }),
    image: t.string({ description: 'Preset of environment and interpreter for its kernels.' }),
    command: t.stringList({ required: true, description: 'The program and its arguments: `["sh", "-c", "exit 3"]`.' }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Environment of its kernels, in addition to the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description: 'Variables whose values are encrypted, handed to kernels that start, and read by nobody else.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each kernel.' }),
    clusterSize: t.int({ defaultValue: 1, description: 'How many kernels.' }),
    clusterMode: t.field({ type: ClusterModeEnum, description: 'How they are spread over agents.' }),
    batchTimeout: t.float({ description: 'Batch timeout: seconds that user code may run.' }),
    startsAt: t.field({ type: 'DateTime', description: 'Earliest start time.' }),
    priority: t.int({ defaultValue: 10, description: '0 to 100; the higher goes first.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    allowAgents: t.field({ type: ['UUID'], description: 'Only these agents may run it, and its retries; none: all.' }),
    avoidAgents: t.field({ type: ['UUID'], description: 'Agents to avoid: used only if no other has free capacity.' }),
    excludeAgents: t.field({
      type: ['UUID'],
      description: 'Agents that must not run it, nor its retries: it waits if no other is left.',
    }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run it.' }),
    dependsOn: t.field({ type: ['UUID'], description: 'Sessions whose chains must succeed first.' }),
    creationId: t.string({
      description:
        'Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved.',
    }),
    retryPolicy: t.field({ type: RetryPolicyInput, description: 'How it is retried.' }),
  }),
})

export const CreateSessionsInput = builder.inputType('CreateSessionsInput', {
  description: 'Sessions to create.',
  fields: (t) => ({
    sessions: t.field({ type: [CreateSessionInput], required: true, description: 'At most 1000.' }),
  }),
})
