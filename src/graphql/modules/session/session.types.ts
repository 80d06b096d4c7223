import { exitSignalOf, failureReason } from '../../../domain/session/failure.ts'
import type { Mount } from '../../../domain/session/mounts.ts'
import { secretNames } from '../../../domain/session/kernel-environment.ts'
import type { SessionAction } from '../../../domain/session/session-spec.ts'
import { isStarting } from '../../../domain/session/lifecycle.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import type { SessionDurations } from '../../../services/session/explain-pending.ts'
import { NO_CHECKPOINT } from '../../../services/session/read-sessions.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { historyField } from './history.types.ts'
import {
  CheckpointType,
  EnvVar,
  ExecutorOption,
  ExitSignalType,
  Label,
  labelsOf,
  MountType,
  ResourceSlot,
  slotsOf,
  UsageType,
} from './values.types.ts'

export const SessionStatusEnum = builder.enumType('SessionStatus', {
  description: 'Status of a session. TERMINATED, ERROR and CANCELLED are final.',
  values: {
    PENDING: { description: 'Waits to be placed on agents.' },
    SCHEDULED: { description: 'Agents are chosen, their resources reserved.' },
    PREPARING: { description: 'Agents prepare its kernels.' },
    PULLING: { description: 'An agent fetches the image.' },
    PREPARED: { description: 'All kernels are ready to be created.' },
    CREATING: { description: 'Agents start its kernels.' },
    RUNNING: { description: 'User code runs.' },
    TERMINATING: { description: 'Its kernels are being stopped, or have ended.' },
    TERMINATED: { description: 'Ended: it succeeded, or a person terminated it.' },
    ERROR: { description: 'Ended: it failed.' },
    CANCELLED: { description: 'Ended before it started.' },
  } as const,
})

export const SessionResultEnum = builder.enumType('SessionResult', {
  description: 'Result of a session.',
  values: {
    UNDEFINED: { description: 'Not known: it has not ended, or a person terminated it.' },
    SUCCESS: { description: 'Its main kernel ended by itself with exit code 0.' },
    FAILURE: { description: 'It failed; `failureCause` says why.' },
  } as const,
})

export const SessionTypeEnum = builder.enumType('SessionType', {
  description: 'What a session is for.',
  values: {
    BATCH: { description: 'Runs a command to its end. The only type that is retried.' },
    INTERACTIVE: { description: 'Serves a person until it is terminated.' },
    INFERENCE: { description: 'One replica of a deployment.' },
  } as const,
})

export const ClusterModeEnum = builder.enumType('ClusterMode', {
  description: 'How the kernels of a session are spread.',
  values: {
    SINGLE_NODE: { description: 'All on one agent.' },
    MULTI_NODE: { description: 'On as many agents as needed.' },
  } as const,
})

export const SessionOriginEnum = builder.enumType('SessionOrigin', {
  description: 'Why a session exists.',
  values: {
    INITIAL: { description: 'A client created it.' },
    AUTO_RETRY: { description: 'A retry policy created it after its parent failed.' },
    RESUBMISSION: { description: 'A person resubmitted its parent.' },
  } as const,
})

export const SessionActionEnum = builder.enumType('SessionAction', {
  description: 'What a person can do with a session.',
  values: {
    RETRY_NOW: { description: '`retryNow`.' },
    CANCEL_RETRY: { description: '`cancelRetry`.' },
    TERMINATE: { description: '`terminateSession`.' },
    RESUBMIT: { description: '`resubmitSessions`, without overrides.' },
  } satisfies Record<SessionAction, object>,
})

const SessionDurationsType = builder.objectRef<SessionDurations>('SessionDurations').implement({
  description: 'How long a session was in what so far, in seconds; together they are its age.',
  fields: (t) => ({
    queued: t.exposeFloat('queued', { description: 'It waited for an agent: PENDING.' }),
    preparing: t.exposeFloat('preparing', { description: 'It was prepared on its agent, until user code started.' }),
    running: t.exposeFloat('running', { description: 'User code ran.' }),
    ending: t.exposeFloat('ending', { description: 'It was stopped and cleared away: TERMINATING.' }),
  }),
})

export const SessionNode = builder.prismaNode('Session', {
  description: 'One attempt at a piece of work. Attempts that follow each other form a chain.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    sessionId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    creationId: t.exposeString('creationId', { description: "The client's idempotency key, unique in the project." }),
    name: t.exposeString('name', { description: 'Its name; need not be unique.' }),
    sessionType: t.expose('sessionType', { type: SessionTypeEnum, description: 'What it is for.' }),
    status: t.expose('status', { type: SessionStatusEnum, description: 'Its status.' }),
    statusChangedAt: t.expose('statusChangedAt', { type: 'DateTime', description: 'Since when it has this status.' }),
    result: t.expose('result', { type: SessionResultEnum, description: 'Its result.' }),
    statusReason: t.string({
      nullable: true,
      description:
        'Why it ended as it did, in words; while it is being started, how far that is, such as "queued by Slurm: Priority".',
      select: { status: true, statusReason: true },
      resolve: ({ id, status, statusReason }, _args, { loaders }) =>
        statusReason ?? (isStarting(status) ? loaders.startNotes.load(id) : null),
    }),
    pendingReason: t.string({
      nullable: true,
      description: 'Why it is waiting, in words with the present numbers; null if it is not.',
      select: { status: true },
      resolve: ({ id, status }, _args, { loaders }) => (status === 'PENDING' ? loaders.pendingReasons.load(id) : null),
    }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description:
        'Exit code of the kernel that decided the result: the main kernel if it ended by itself, else the one with the lowest index that failed by itself. Provisional while the session is TERMINATING.',
    }),
    exitSignal: t.field({
      type: ExitSignalType,
      nullable: true,
      description: 'The signal of which `exitCode` speaks; null if that is no signal’s.',
      select: { exitCode: true },
      resolve: ({ exitCode }) => exitSignalOf(exitCode),
    }),
    usage: t.field({
      type: UsageType,
      nullable: true,
      description:
        'What this attempt used, its kernels together as far as they have ended; null if none ran, or nothing is known.',
      resolve: ({ id }, _args, { loaders }) => loaders.usage.load(id),
    }),
    checkpoint: t.field({
      type: CheckpointType,
      description: 'What it found of the checkpoint of earlier attempts when it started.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.checkpoint.load(id)) ?? NO_CHECKPOINT,
    }),
    failureCause: t.expose('failureCause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'Why it failed, once that is classified.',
    }),
    failureReason: t.string({
      nullable: true,
      description:
        'The name of what failed it, once that is classified: several belong to one cause, such as `task-timeout` to KERNEL_NONZERO_EXIT.',
      select: { failureCause: true, terminatedBy: true, statusData: true },
      resolve: failureReason,
    }),
    project: t.relation('project', { description: 'The project that it belongs to.' }),
    resourceGroup: t.relation('group', { description: 'Where it runs.' }),
    kernels: t.relation('kernels', {
      description: 'Its processes, the main one first.',
      query: { orderBy: [{ role: 'asc' }, { index: 'asc' }] },
    }),
    createdBy: t.exposeString('createdBy', {
      nullable: true,
      description:
        'Who created it, by the name of their token; null for a retry and a resubmission: `chain.epochs.by` says who asked for that.',
    }),
    user: t.string({
      nullable: true,
      description: 'The user whom it belongs to, by name: whose token created it; null if that was nobody’s.',
      select: { user: { select: { name: true } } },
      resolve: ({ user }) => user?.name ?? null,
    }),
    terminatedBy: t.exposeString('terminatedBy', {
      nullable: true,
      description: 'The person who terminated it, by the name of their token; null if nobody did.',
    }),
    image: t.exposeString('image', {
      nullable: true,
      description:
        'Container image of its kernels; for agents without containers, a preset of environment and interpreter.',
    }),
    imageDigest: t.exposeString('imageDigest', {
      nullable: true,
      description:
        'Which image its kernels run, `sha256:…`; null until one of their agents knows, and where images are no containers’.',
    }),
    requiredImageDigest: t.exposeString('requiredImageDigest', {
      nullable: true,
      description:
        'Which image they have to run: that of the attempt before, unless its policy says `pinImage: false`.',
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
    clusterSize: t.exposeInt('clusterSize', { description: 'How many kernels it has.' }),
    clusterMode: t.expose('clusterMode', { type: ClusterModeEnum, description: 'How they are spread over agents.' }),
    batchTimeout: t.exposeFloat('batchTimeout', {
      nullable: true,
      description: 'Batch timeout: seconds that user code may run.',
    }),
    startsAt: t.expose('startsAt', { type: 'DateTime', nullable: true, description: 'Earliest start time.' }),
    priority: t.exposeInt('priority', { description: '0 to 100; the higher goes first.' }),
    labels: t.field({
      type: [Label],
      description: 'Labels given by its client.',
      select: { labels: true },
      resolve: ({ labels }) => labelsOf(labels),
    }),
    allowAgents: t.expose('allowAgents', { type: ['UUID'], description: 'Only these agents may run it; none: all.' }),
    avoidAgents: t.expose('avoidAgents', {
      type: ['UUID'],
      description: 'Agents that go last, those at the end of the list after the others.',
    }),
    excludeAgents: t.expose('excludeAgents', { type: ['UUID'], description: 'Agents that must not run it.' }),
    agentLabels: t.field({
      type: [Label],
      description: 'An agent must have all of them to run it.',
      select: { agentLabels: true },
      resolve: ({ agentLabels }) => labelsOf(agentLabels),
    }),
    executorOptions: t.field({
      type: [ExecutorOption],
      description:
        'Its own executor options. Those that its resource group does not allow, after it was moved there or the group was changed, do not count.',
      select: { executorOptions: true },
      resolve: ({ executorOptions }) => labelsOf(executorOptions),
    }),
    mounts: t.field({
      type: [MountType],
      description: 'Volumes that its kernels have, by paths.',
      select: { mounts: true },
      resolve: ({ mounts }) => mounts as unknown as Mount[],
    }),
    codeSha256: t.exposeString('codeSha256', {
      nullable: true,
      description: 'SHA-256 of the uploaded code that its kernels find in their working directory; null for none.',
    }),
    concurrencyKey: t.exposeString('concurrencyKey', {
      nullable: true,
      description: 'Of the sessions of its project with this key only `concurrencyLimit` are placed at once.',
    }),
    concurrencyLimit: t.exposeInt('concurrencyLimit', {
      nullable: true,
      description: 'How many may be placed at once with its `concurrencyKey`; null if it has none.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When user code started.' }),
    terminatedAt: t.expose('terminatedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    durations: t.field({
      type: SessionDurationsType,
      description: 'How long it was queued, prepared, ran and took to end, so far.',
      resolve: ({ id }, _args, { loaders }) => loaders.durations.load(id),
    }),
    chainId: t.expose('chainId', {
      type: 'UUID',
      description: "The first attempt's id; the same for the whole chain.",
    }),
    tries: t.exposeInt('tries', { description: 'Tries of the scheduler in its present status; not retries.' }),
    reschedules: t.exposeInt('reschedules', {
      description: 'How often it went back to PENDING because it could not be started; not retries.',
    }),
    uncountedRetries: t.exposeInt('uncountedRetries', {
      description: 'Retries of the present epoch so far that did not use up the budget.',
    }),
    retryCount: t.exposeInt('retryCount', {
      description: 'Retries used of the present budget; 0 for a first attempt.',
    }),
    maxRetries: t.exposeInt('maxRetries', { description: 'The budget. 0 is none.' }),
    attempt: t.exposeInt('attempt', { description: '1-based position in the chain; never reset.' }),
    epoch: t.exposeInt('epoch', { description: 'How often people have resubmitted this chain.' }),
    origin: t.expose('origin', { type: SessionOriginEnum, description: 'Why it exists.' }),
    retryCause: t.expose('retryCause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause of its parent’s failure, if it is a retry.',
    }),
    schedulingHistory: t.field(historyField(t, 'What the scheduler did with it, oldest first.')),
  }),
})
