import type { Mount } from '../../../domain/session/mounts.ts'
import type { GpuNeed } from '../../../domain/gpu.ts'
import { secretNames } from '../../../domain/session/kernel-environment.ts'
import { builder } from '../../builder.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { GpusInput, GpuType, GpuUsageType, RequiredGpus } from './gpus.types.ts'
import { InputFilesInput, OutputsInput } from './outputs.types.ts'
import { ClusterModeEnum, SessionNode, SessionTypeEnum } from './session.types.ts'
import {
  EnvVar,
  EnvVarInput,
  ExecutorOption,
  ExecutorOptionInput,
  Label,
  LabelInput,
  labelsOf,
  MountInput,
  MountType,
  ResourceSlot,
  ResourceSlotInput,
  slotsOf,
} from './values.types.ts'

/** What a client asks for when it creates a session. */
export const CreateSessionInput = builder.inputType('CreateSessionInput', {
  description: 'The session to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name; not necessarily unique.' }),
    sessionType: t.field({ type: SessionTypeEnum, defaultValue: 'BATCH', description: 'Its type.' }),
    project: t.string({ description: 'Name of the project. Missing: the only project of the token, or `default`.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Name of the resource group to run in.' }),
    image: t.string({
      description:
        'Container image of its kernels; for agents without containers, a preset of environment and interpreter.',
    }),
    command: t.stringList({ required: true, description: 'The program and its arguments: `["sh", "-c", "exit 3"]`.' }),
    codeSha256: t.string({
      description:
        'SHA-256 of code that was uploaded for the project (`PUT /v2/code/{sha256}`). Its kernels find the files in their working directory.',
    }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Environment of its kernels, in addition to the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description:
        'Secret variables: their values are stored encrypted, are given to kernels at their start, and cannot be read otherwise.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each kernel.' }),
    gpus: t.field({
      type: GpusInput,
      description:
        'GPUs of each kernel, by number, model and memory. It waits for an agent that has such GPUs. Retries and resubmissions keep model and memory.',
    }),
    clusterSize: t.int({ defaultValue: 1, description: 'Number of kernels.' }),
    clusterMode: t.field({ type: ClusterModeEnum, description: 'How its kernels are distributed over agents.' }),
    batchTimeout: t.float({ description: 'Batch timeout: seconds that user code may run.' }),
    gpuIdleTimeout: t.float({
      description:
        'Seconds after which an attempt fails (`gpu-idle`) if all GPUs of one of its kernels were below 1 % of use meanwhile. Default: no limit.',
    }),
    progressTimeout: t.float({
      description:
        'Seconds without progress after which an attempt has failed (HUNG, `no-progress`), at least 1. Progress is output, a write to `REPRISE_PROGRESS_FILE`, or a published checkpoint. Short for `progressTimeout` in `retryPolicy`, and stronger. Default: that of the policy, or no limit.',
    }),
    onHang: t.stringList({
      description:
        'Program and arguments that run in a kernel without progress before it is stopped, for at most 60 s. The log gets their output.',
    }),
    neverRunTwice: t.boolean({
      description:
        'True: once its start was ordered, nothing starts it again: there is no retry, and no other agent gets it, even if its agent is lost before it reports the start.',
    }),
    maxPending: t.float({
      description:
        'Seconds that each attempt may wait in PENDING. After that it has failed with SCHEDULER_TIMEOUT (`waited-too-long`). Time before `startsAt`, and before its dependencies have succeeded, does not count.',
    }),
    stopGrace: t.float({
      description:
        'Grace period in seconds between asking its processes to stop and killing them; at most `stopGraceMax` of its resource group. Default: that of the resource group.',
    }),
    startsAt: t.field({ type: 'DateTime', description: 'Earliest start time.' }),
    priority: t.int({ defaultValue: 10, description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    allowAgents: t.field({
      type: ['UUID'],
      description: 'Ids of the only agents that may run it and its retries; an empty list means all.',
    }),
    avoidAgents: t.field({
      type: ['UUID'],
      description: 'Ids of agents to avoid: used only if no other has free capacity.',
    }),
    excludeAgents: t.field({
      type: ['UUID'],
      description: 'Ids of agents that must not run it or its retries: it waits if no other agent is left.',
    }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run it.' }),
    executorOptions: t.field({
      type: [ExecutorOptionInput],
      description:
        "Executor options in addition to those of the resource group, such as the `partition` of a Slurm cluster. Only keys in the group's `allowedExecutorOptions` are allowed. Retries and resubmissions keep them.",
    }),
    mounts: t.field({
      type: [MountInput],
      description:
        'Volumes that its kernels mount. It runs on agents that have all of them for its project. Retries and resubmissions keep them.',
    }),
    outputs: t.field({
      type: OutputsInput,
      description:
        'Files to collect from its working directory at the end of each attempt, in addition to everything in `REPRISE_OUTPUT_DIR`.',
    }),
    inputs: t.field({
      type: [InputFilesInput],
      description:
        'Outputs of other sessions that its programs find in their working directory. It starts once the chains of these sessions have succeeded.',
    }),
    concurrencyKey: t.string({
      description: 'Only `concurrencyLimit` sessions of its project with this key are placed at the same time.',
    }),
    concurrencyLimit: t.int({ description: 'Limit for its `concurrencyKey`, 1 to 1000; 1 if missing.' }),
    dependsOn: t.field({ type: ['UUID'], description: 'Ids of sessions whose chains must succeed before it starts.' }),
    creationId: t.string({
      description:
        'Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved.',
    }),
    retryPolicy: t.field({ type: RetryPolicyInput, description: 'Its retry policy.' }),
  }),
})

/** The same, as the session shows it. */
builder.prismaObjectFields(SessionNode, (t) => ({
  image: t.exposeString('image', {
    nullable: true,
    description:
      'Container image of its kernels; for agents without containers, a preset of environment and interpreter.',
  }),
  requiredImageDigest: t.exposeString('requiredImageDigest', {
    nullable: true,
    description:
      'Digest of the image that its kernels must run: that of the attempt before, unless its policy has `pinImage: false`.',
  }),
  command: t.exposeStringList('command', { description: 'The program and its arguments.' }),
  environ: t.field({
    type: [EnvVar],
    description: 'Environment of its kernels, in addition to the variables set by Reprise.',
    select: { environ: true },
    resolve: ({ environ }) => environ as { name: string; value: string }[],
  }),
  secretEnviron: t.stringList({
    description: 'Names of its secret variables, whose values nobody can read.',
    select: { secretEnviron: true },
    resolve: (session) => secretNames(session.secretEnviron),
  }),
  resourceSlots: t.field({
    type: [ResourceSlot],
    description: 'Resources of each kernel.',
    select: { resourceSlots: true },
    resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
  }),
  gpus: t.field({
    type: [GpuType],
    description: 'The GPUs that agents have assigned to its kernels; empty if it has none, or until they are known.',
    resolve: async ({ id }, _args, { loaders }) => (await loaders.sessionGpus.load(id)).gpus,
  }),
  gpuUsage: t.field({
    type: GpuUsageType,
    nullable: true,
    description: 'What it has used of them, updated while it runs; null if that is not known.',
    resolve: async ({ id }, _args, { loaders }) => (await loaders.sessionGpus.load(id)).usage,
  }),
  requiredGpus: t.field({
    type: RequiredGpus,
    nullable: true,
    description: 'What its GPUs must be like, whose number is in `resourceSlots`; null if any will do.',
    select: { gpuNeed: true },
    resolve: ({ gpuNeed }) => gpuNeed as unknown as GpuNeed | null,
  }),
  clusterSize: t.exposeInt('clusterSize', { description: 'Number of its kernels.' }),
  clusterMode: t.expose('clusterMode', {
    type: ClusterModeEnum,
    description: 'How its kernels are distributed over agents.',
  }),
  batchTimeout: t.exposeFloat('batchTimeout', {
    nullable: true,
    description: 'Batch timeout: seconds that user code may run.',
  }),
  gpuIdleTimeout: t.exposeFloat('gpuIdleTimeout', {
    nullable: true,
    description: 'Seconds for which its GPUs may be idle; null for no limit.',
  }),
  onHang: t.exposeStringList('onHang', {
    description: 'The command that runs in a kernel without progress before it is stopped; empty for none.',
  }),
  neverRunTwice: t.exposeBoolean('neverRunTwice', {
    description: 'Whether nothing starts it again once its start was ordered.',
  }),
  stopGrace: t.exposeFloat('stopGrace', {
    nullable: true,
    description: 'Grace period in seconds that it asked for; null means that of its resource group.',
  }),
  maxPending: t.exposeFloat('maxPending', {
    nullable: true,
    description: 'Seconds that it may wait in PENDING; null for as long as its resource group allows.',
  }),
  startsAt: t.expose('startsAt', { type: 'DateTime', nullable: true, description: 'Earliest start time.' }),
  priority: t.exposeInt('priority', { description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
  labels: t.field({
    type: [Label],
    description: 'Labels given by its client.',
    select: { labels: true },
    resolve: ({ labels }) => labelsOf(labels),
  }),
  allowAgents: t.expose('allowAgents', {
    type: ['UUID'],
    description: 'Ids of the only agents that may run it; an empty list means all.',
  }),
  avoidAgents: t.expose('avoidAgents', {
    type: ['UUID'],
    description: 'Ids of agents that are used only after all others; those at the end of this list last.',
  }),
  excludeAgents: t.expose('excludeAgents', { type: ['UUID'], description: 'Ids of agents that must not run it.' }),
  agentLabels: t.field({
    type: [Label],
    description: 'An agent must have all of them to run it.',
    select: { agentLabels: true },
    resolve: ({ agentLabels }) => labelsOf(agentLabels),
  }),
  executorOptions: t.field({
    type: [ExecutorOption],
    description:
      'Its own executor options. Options that its resource group does not allow have no effect; this can happen after it was moved to another group, or after the group was changed.',
    select: { executorOptions: true },
    resolve: ({ executorOptions }) => labelsOf(executorOptions),
  }),
  mounts: t.field({
    type: [MountType],
    description: 'Volumes that its kernels mount.',
    select: { mounts: true },
    resolve: ({ mounts }) => mounts as unknown as Mount[],
  }),
  codeSha256: t.exposeString('codeSha256', {
    nullable: true,
    description: 'SHA-256 of the uploaded code that its kernels find in their working directory; null for none.',
  }),
  concurrencyKey: t.exposeString('concurrencyKey', {
    nullable: true,
    description: 'Only `concurrencyLimit` sessions of its project with this key are placed at the same time.',
  }),
  concurrencyLimit: t.exposeInt('concurrencyLimit', {
    nullable: true,
    description: 'Limit for its `concurrencyKey`; null if it has none.',
  }),
}))
