import { exitSignalOf, failureReason } from '../../../domain/session/failure.ts'
import type { SessionAction } from '../../../domain/session/session-spec.ts'
import { isStarting } from '../../../domain/session/lifecycle.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import type { SessionDurations } from '../../../services/session/explain-pending.ts'
import { NO_CHECKPOINT } from '../../../services/session/read-sessions.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { loadNode } from '../../loaders/loader-kinds.ts'
import { pageInterfaces } from '../../paging.ts'
import { UserNode } from '../access/access.types.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { historyField } from './history.types.ts'
import { CheckpointType, ExitSignalType, UsageType } from './values.types.ts'

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
    TERMINATING: { description: 'Its kernels are being stopped or have ended.' },
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
  description: 'Type of a session.',
  values: {
    BATCH: { description: 'Runs a command until it ends. Only sessions of this type are retried.' },
    INTERACTIVE: { description: 'Serves a person until it is terminated.' },
    INFERENCE: { description: 'One replica of a deployment.' },
  } as const,
})

export const ClusterModeEnum = builder.enumType('ClusterMode', {
  description: 'How the kernels of a session are distributed over agents.',
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
  description: 'Actions that a person can take on a session.',
  values: {
    RETRY_NOW: { description: '`retryNow`.' },
    CANCEL_RETRY: { description: '`cancelRetry`.' },
    TERMINATE: { description: '`terminateSession`.' },
    RESUBMIT: { description: '`resubmitSessions`, without overrides.' },
  } satisfies Record<SessionAction, object>,
})

const SessionDurationsType = builder.objectRef<SessionDurations>('SessionDurations').implement({
  description: 'Time that a session has spent in each stage so far, in seconds. Their sum is its age.',
  fields: (t) => ({
    queued: t.exposeFloat('queued', { description: 'Waiting for an agent: PENDING.' }),
    preparing: t.exposeFloat('preparing', { description: 'Prepared on its agent, until user code started.' }),
    running: t.exposeFloat('running', { description: 'Running user code.' }),
    ending: t.exposeFloat('ending', { description: 'Being stopped and cleaned up: TERMINATING.' }),
  }),
})

export const SessionNode = builder.prismaNode('Session', {
  description: 'One attempt at a piece of work. An attempt, its retries and its resubmissions form a chain.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    sessionId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    creationId: t.exposeString('creationId', { description: "The client's idempotency key, unique in the project." }),
    name: t.exposeString('name', { description: 'Its name; not necessarily unique.' }),
    sessionType: t.expose('sessionType', { type: SessionTypeEnum, description: 'Its type.' }),
    status: t.expose('status', { type: SessionStatusEnum, description: 'Its status.' }),
    statusChangedAt: t.expose('statusChangedAt', { type: 'DateTime', description: 'When it entered this status.' }),
    result: t.expose('result', { type: SessionResultEnum, description: 'Its result.' }),
    statusReason: t.string({
      nullable: true,
      description:
        'Explanation of its status, in words: why it ended, or the progress of its start, such as "queued by Slurm: Priority".',
      select: { status: true, statusReason: true },
      resolve: ({ id, status, statusReason }, _args, { loaders }) =>
        statusReason ?? (isStarting(status) ? loaders.startNotes.load(id) : null),
    }),
    progress: t.string({
      nullable: true,
      description:
        'The last line that its program has written into `REPRISE_PROGRESS_FILE`, such as "step 1200/5000"; null if it has written none.',
      select: { status: true },
      resolve: async ({ id, status }, _args, { loaders }) =>
        status === 'PENDING' ? null : ((await loaders.progress.load(id))?.line ?? null),
    }),
    progressAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When that line was first reported.',
      select: { status: true },
      resolve: async ({ id, status }, _args, { loaders }) =>
        status === 'PENDING' ? null : ((await loaders.progress.load(id))?.at ?? null),
    }),
    pendingReason: t.string({
      nullable: true,
      description:
        'Why it is waiting, in words with the present numbers; null if it is not waiting. It begins with "impossible: " if `impossible` is true.',
      select: { status: true },
      resolve: async ({ id, status }, _args, { loaders }) =>
        status === 'PENDING' ? ((await loaders.pendingReasons.load(id))?.text ?? null) : null,
    }),
    impossible: t.boolean({
      description:
        'Whether it waits in vain: none of the agents of its resource group, even if nothing ran there, and no quota as it is set could take it.',
      select: { status: true },
      resolve: async ({ id, status }, _args, { loaders }) =>
        status === 'PENDING' && (await loaders.pendingReasons.load(id))?.impossible === true,
    }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description:
        'Exit code of the kernel that decided the result: the main kernel if it ended by itself, else the one with the lowest index that failed by itself. Provisional while the session is TERMINATING.',
    }),
    exitSignal: t.field({
      type: ExitSignalType,
      nullable: true,
      description: 'The signal that `exitCode` stands for; null if it is not the code of a signal.',
      select: { exitCode: true },
      resolve: ({ exitCode }) => exitSignalOf(exitCode),
    }),
    usage: t.field({
      type: UsageType,
      nullable: true,
      description:
        'Resources that this attempt used, over those of its kernels that have ended. Null if none ran, or nothing is known.',
      resolve: ({ id }, _args, { loaders }) => loaders.usage.load(id),
    }),
    checkpoint: t.field({
      type: CheckpointType,
      description: 'The state of the checkpoint of earlier attempts when it started.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.checkpoint.load(id)) ?? NO_CHECKPOINT,
    }),
    failureCause: t.expose('failureCause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause of its failure, once that is classified.',
    }),
    failureReason: t.string({
      nullable: true,
      description:
        'A more exact name of its failure, once that is classified. Several names belong to one cause; `task-timeout`, for example, to KERNEL_NONZERO_EXIT.',
      select: { failureCause: true, terminatedBy: true, statusData: true },
      resolve: failureReason,
    }),
    timedOut: t.exposeBoolean('timedOut', {
      description:
        'Whether it was ended by its `batchTimeout`. It then has no exit code, and its cause is KERNEL_NONZERO_EXIT.',
    }),
    project: t.relation('project', { description: 'The project that it belongs to.' }),
    resourceGroup: t.relation('group', { description: 'The resource group that it runs in.' }),
    kernels: t.relation('kernels', {
      description: 'Its kernels, the main one first.',
      query: { orderBy: [{ role: 'asc' }, { index: 'asc' }] },
    }),
    createdBy: t.exposeString('createdBy', {
      nullable: true,
      description:
        'Who created it: the name of the token. Null for a retry and for a resubmission, whose requester is in `chain.epochs.by`.',
    }),
    user: t.string({
      nullable: true,
      description: 'Name of its user: the user of the token that created it; null if that token has no user.',
      select: { user: { select: { name: true } } },
      resolve: ({ user }) => user?.name ?? null,
    }),
    userNode: t.field({
      type: UserNode,
      nullable: true,
      description: 'Its user; null if it has none, or if that user was deleted or has left the project.',
      select: { userId: true },
      resolve: ({ userId }, _args, context, info) =>
        userId === null ? null : loadNode(context.loaders.userNodes, { context, info, typeName: 'User' }, userId),
    }),
    terminatedBy: t.exposeString('terminatedBy', {
      nullable: true,
      description: 'Who terminated it: the name of the token. Null if no person did.',
    }),
    imageDigest: t.exposeString('imageDigest', {
      nullable: true,
      description:
        'Digest of the image that its kernels run, `sha256:…`. Null until one of its agents reports it, and for executors without container images.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When user code started.' }),
    terminatedAt: t.expose('terminatedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    durations: t.field({
      type: SessionDurationsType,
      description: 'Time that it has spent waiting, being prepared, running and ending so far.',
      resolve: ({ id }, _args, { loaders }) => loaders.durations.load(id),
    }),
    chainId: t.expose('chainId', {
      type: 'UUID',
      description: 'The id of the first attempt; the same for the whole chain.',
    }),
    tries: t.exposeInt('tries', {
      description: 'Number of tries of the scheduler in its present status. They are not retries.',
    }),
    reschedules: t.exposeInt('reschedules', {
      description: 'Number of times it went back to PENDING because it could not be started. They are not retries.',
    }),
    uncountedRetries: t.exposeInt('uncountedRetries', {
      description: 'Number of retries in the present epoch that did not use up the budget.',
    }),
    retryCount: t.exposeInt('retryCount', {
      description: 'Number of retries used of the present budget; 0 for a first attempt.',
    }),
    maxRetries: t.exposeInt('maxRetries', { description: 'The retry budget; 0 means no retries.' }),
    attempt: t.exposeInt('attempt', { description: '1-based position in the chain; never reset.' }),
    epoch: t.exposeInt('epoch', {
      description: 'The epoch: the number of times that people have resubmitted this chain.',
    }),
    origin: t.expose('origin', { type: SessionOriginEnum, description: 'Why it exists.' }),
    retryCause: t.expose('retryCause', {
      type: FailureCauseEnum,
      nullable: true,
      description:
        "The cause of its parent's failure, for a retry and for a resubmission. Null for a first attempt, and for the resubmission of a parent that did not fail.",
    }),
    schedulingHistory: t.field(historyField(t, 'Actions of the scheduler on it, oldest first.')),
  }),
})

export const SESSION_PAGE = pageInterfaces('Session', SessionNode)
