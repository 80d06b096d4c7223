import type { ErrorCode } from '../../../domain/errors.ts'
import { SCHEDULE_LAST_RUNS_MAX, SCHEDULE_NEXT_RUNS_MAX } from '../../../domain/limits.ts'
import { type SealedVariable, secretNames } from '../../../domain/session/kernel-environment.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import {
  nextRunsOf,
  readScheduleRuns,
  type ScheduleRecord,
  type ScheduleRunRow,
  templateOf,
} from '../../../services/schedule/read-schedules.ts'
import type { ParsedCreateSession } from '../../../services/session/create-session-input.ts'
import { builder } from '../../builder.ts'
import { inOrderOf, isUuid } from '../../ids.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { ProjectNode } from '../access/access.types.ts'
import { ErrorCodeEnum } from '../error-codes.ts'
import { ClusterModeEnum, SessionNode, SessionTypeEnum } from '../session/session.types.ts'
import { PartialPolicyType } from '../retry/retry-policy.types.ts'
import { ScheduledGpus } from '../session/gpus.types.ts'
import { RequestedOutputs } from '../session/outputs.types.ts'
import { EnvVar, ExecutorOption, Label, labelsOf, MountType, ResourceSlot, slotsOf } from '../session/values.types.ts'

export const ScheduleOverlapEnum = builder.enumType('ScheduleOverlap', {
  description: 'What happens to a run that is due while a chain of its schedule is active.',
  values: {
    SKIP: { description: 'The run is skipped.' },
    QUEUE: { description: 'The run waits until that chain has ended; at most 100 runs wait.' },
    CANCEL_OTHER: { description: 'The active chain is terminated, and then the run starts.' },
  } as const,
})

export const ScheduleRunOutcomeEnum = builder.enumType('ScheduleRunOutcome', {
  description: 'Outcome of a run.',
  values: {
    STARTED: { description: 'It created a chain.' },
    QUEUED: { description: 'It waits for an earlier one to end.' },
    SKIPPED: { description: 'It was skipped because of another run: see `reason`.' },
    MISSED: { description: 'No server could make it in time, and `catchUp` does not cover it.' },
    REFUSED: { description: 'Its session was refused with an error of `createSession`: see `code` and `reason`.' },
  } as const,
})

type Template = ParsedCreateSession & { secretNames: string[] }

const ScheduledSession = builder.objectRef<Template>('ScheduledSession').implement({
  description:
    'The specification of the session that each run of a schedule creates, as `createSession` would. It has all fields of `CreateSessionInput` that schedules may have, so that an update can repeat it; only the values of secret variables cannot be read, and stay if an update leaves out `secretEnviron`.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    sessionType: t.expose('sessionType', { type: SessionTypeEnum, description: 'Its type.' }),
    resourceGroup: t.exposeString('resourceGroup', { description: 'Name of the resource group to run in.' }),
    image: t.string({ nullable: true, description: 'Its image.', resolve: ({ image }) => image ?? null }),
    command: t.exposeStringList('command', { description: 'The program and its arguments.' }),
    environ: t.field({ type: [EnvVar], description: 'Its environment.', resolve: ({ environ }) => environ }),
    secretEnviron: t.stringList({
      description: 'Names of its secret variables, whose values nobody can read.',
      resolve: (template) => template.secretNames,
    }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each kernel.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    gpus: t.field({
      type: ScheduledGpus,
      nullable: true,
      description: 'What its GPUs must be like, whose number is in `resourceSlots`; null if any will do.',
      resolve: ({ gpuNeed }) => gpuNeed,
    }),
    clusterSize: t.exposeInt('clusterSize', { description: 'Number of its kernels.' }),
    clusterMode: t.expose('clusterMode', {
      type: ClusterModeEnum,
      description: 'How its kernels are distributed over agents.',
    }),
    batchTimeout: t.float({
      nullable: true,
      description: 'Batch timeout: seconds that user code may run.',
      resolve: ({ batchTimeout }) => batchTimeout ?? null,
    }),
    gpuIdleTimeout: t.float({
      nullable: true,
      description: 'Seconds for which its GPUs may be idle; null for no limit.',
      resolve: ({ gpuIdleTimeout }) => gpuIdleTimeout ?? null,
    }),
    onHang: t.stringList({
      description: 'The command that runs in a kernel without progress before it is stopped; empty for none.',
      resolve: ({ onHang }) => onHang ?? [],
    }),
    neverRunTwice: t.boolean({
      description: 'Whether nothing starts a run again once its start was ordered.',
      resolve: ({ neverRunTwice }) => neverRunTwice ?? false,
    }),
    stopGrace: t.float({
      nullable: true,
      description: 'Grace period in seconds that it asks for; null means that of its resource group.',
      resolve: ({ stopGrace }) => stopGrace ?? null,
    }),
    maxPending: t.float({
      nullable: true,
      description: 'Seconds that each attempt may wait in PENDING; null for as long as its resource group allows.',
      resolve: ({ maxPending }) => maxPending ?? null,
    }),
    priority: t.exposeInt('priority', { description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    labels: t.field({ type: [Label], description: 'Its labels.', resolve: ({ labels }) => labelsOf(labels) }),
    codeSha256: t.string({
      nullable: true,
      description: 'SHA-256 of the uploaded code that its kernels find in their working directory; null for none.',
      resolve: ({ codeSha256 }) => codeSha256 ?? null,
    }),
    allowAgents: t.expose('allowAgents', {
      type: ['UUID'],
      description: 'Ids of the only agents that may run it; an empty list means all.',
    }),
    avoidAgents: t.expose('avoidAgents', {
      type: ['UUID'],
      description: 'Ids of agents to avoid: used only if no other has free capacity.',
    }),
    excludeAgents: t.expose('excludeAgents', { type: ['UUID'], description: 'Ids of agents that must not run it.' }),
    agentLabels: t.field({
      type: [Label],
      description: 'An agent must have all of them to run it.',
      resolve: ({ agentLabels }) => labelsOf(agentLabels),
    }),
    executorOptions: t.field({
      type: [ExecutorOption],
      description: 'Its own executor options.',
      resolve: ({ executorOptions }) => labelsOf(executorOptions),
    }),
    mounts: t.expose('mounts', { type: [MountType], description: 'Volumes that its kernels mount.' }),
    outputs: t.field({
      type: RequestedOutputs,
      nullable: true,
      description: 'Files that are collected at the end of each attempt; null for none.',
      resolve: ({ outputs }) => outputs ?? null,
    }),
    concurrencyKey: t.string({
      nullable: true,
      description: 'Only `concurrencyLimit` sessions of its project with this key are placed at the same time.',
      resolve: ({ concurrencyKey }) => concurrencyKey ?? null,
    }),
    concurrencyLimit: t.int({
      nullable: true,
      description: 'Limit for its `concurrencyKey`; null if it has none.',
      resolve: ({ concurrencyLimit }) => concurrencyLimit ?? null,
    }),
    retryPolicy: t.expose('retryPolicy', {
      type: PartialPolicyType,
      description:
        'The retry policy of each run, as given, with the fields of its preset. Each run takes the others from the defaults of the project at its time.',
    }),
    maxRetries: t.int({
      nullable: true,
      description: 'Same as in `retryPolicy`.',
      resolve: ({ retryPolicy }) => retryPolicy.maxRetries ?? null,
    }),
  }),
})

function scheduledSession(schedule: ScheduleRecord): Template | null {
  const template = templateOf(schedule)
  const secrets = schedule.secretEnviron as unknown as SealedVariable[]
  return template && { ...template, secretNames: secretNames(secrets) }
}

export const ScheduleRun = builder.node(builder.objectRef<ScheduleRunRow>('ScheduleRun'), {
  description:
    'A run of a schedule and its outcome. Consecutive runs that created nothing for the same reason are one entry with a `count`.',
  id: { resolve: ({ id }) => id },
  loadMany: async (ids, { services: { prisma }, viewer }) =>
    inOrderOf(ids, await readScheduleRuns({ prisma, viewer }, ids.filter(isUuid)), ({ id }) => id),
  fields: (t) => ({
    runId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    plannedAt: t.expose('plannedAt', {
      type: 'DateTime',
      description: 'Its planned time, without jitter, or the time of the request.',
    }),
    lastPlannedAt: t.expose('lastPlannedAt', {
      type: 'DateTime',
      description: 'If `count` is more than 1: the planned time of the last of these runs.',
    }),
    count: t.exposeInt('count', { description: 'Number of runs in this entry.' }),
    outcome: t.expose('outcome', { type: ScheduleRunOutcomeEnum, description: 'Its outcome.' }),
    code: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'The code of the error, if it was refused.',
      resolve: ({ code }) => code as ErrorCode | null,
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'The reason, in words.' }),
    askedBy: t.exposeString('askedBy', {
      nullable: true,
      description: 'Who requested it by `runScheduleNow`; null if it was planned.',
    }),
    decidedAt: t.expose('decidedAt', { type: 'DateTime', description: 'When it got this outcome.' }),
    chainId: t.expose('chainId', { type: 'UUID', nullable: true, description: 'The chain that it created.' }),
    session: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The first attempt of that chain; null if there is none, or if it was removed because of its age.',
      resolve: ({ chainId }, _args, context, info) =>
        chainId === null ? null : loadSession({ context, info, by: 'id', value: chainId }),
    }),
  }),
})

const ref = builder.objectRef<ScheduleRecord>('Schedule')

export const ScheduleNode = builder.node(ref, {
  description: 'A schedule: creates a session at the times of a cron expression, or at an interval.',
  id: { resolve: ({ id }) => id },
  loadOne: (id, { loaders }) => (isUuid(id) ? loaders.schedules.load(id.toLowerCase()) : undefined),
  fields: (t) => ({
    scheduleId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique in its project.' }),
    project: t.prismaField({
      type: ProjectNode,
      description: 'The project that it belongs to, with all its runs.',
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { projectId }, _args, { services }) =>
        services.prisma.project.findUniqueOrThrow({ ...query, where: { id: projectId } }),
    }),
    cron: t.exposeString('cron', {
      nullable: true,
      description: 'The cron expression for its times; null if it runs at an interval.',
    }),
    every: t.exposeFloat('every', { nullable: true, description: 'The interval in seconds; null if it uses `cron`.' }),
    timeZone: t.exposeString('timeZone', { description: 'The time zone of the cron expression.' }),
    overlap: t.expose('overlap', {
      type: ScheduleOverlapEnum,
      description: 'What happens to a run that is due while an earlier one is still active.',
    }),
    catchUp: t.exposeInt('catchUp', {
      description: 'Number of missed runs that are made after a downtime; the latest ones are made.',
    }),
    jitter: t.exposeFloat('jitter', {
      description:
        'Maximum delay of a run after its planned time, in seconds. The delay is the same each time it is computed for one planned time.',
    }),
    session: t.field({
      type: ScheduledSession,
      nullable: true,
      description:
        'The session that its runs create; null if its specification is no longer valid, so that runs are refused.',
      resolve: scheduledSession,
    }),
    paused: t.boolean({
      description: 'Whether it is paused, so that it makes no runs.',
      resolve: ({ pausedAt }) => pausedAt !== null,
    }),
    pausedAt: t.expose('pausedAt', { type: 'DateTime', nullable: true, description: 'When it was paused.' }),
    pausedBy: t.exposeString('pausedBy', { nullable: true, description: 'Who paused it.' }),
    pauseReason: t.exposeString('pauseReason', { nullable: true, description: 'Why it was paused.' }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'Why its last run was refused, in words; null if it was not.',
    }),
    nextRunAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When its next run is due, with its jitter; null if it is paused, or has none.',
      resolve: ({ pausedAt, dueAt }) => (pausedAt === null ? dueAt : null),
    }),
    nextRuns: t.field({
      type: ['DateTime'],
      description:
        'The next planned times, without jitter; for a paused schedule, those that it would have if it were resumed now.',
      args: {
        first: t.arg.int({
          defaultValue: 5,
          description: `Number of planned times, at most ${SCHEDULE_NEXT_RUNS_MAX}.`,
        }),
      },
      complexity: ({ first }) => ({ field: first ?? 5 }),
      resolve: async (schedule, { first }, { loaders }) =>
        nextRunsOf(schedule, await loaders.now, listed(first, SCHEDULE_NEXT_RUNS_MAX)),
    }),
    queued: t.exposeInt('queued', { description: 'Number of runs that wait for an earlier one to end.' }),
    lastRuns: t.field({
      type: [ScheduleRun],
      description: 'Its last runs, newest first; `scheduleRuns` lists all.',
      args: {
        first: t.arg.int({ defaultValue: 5, description: `Number of runs, at most ${SCHEDULE_LAST_RUNS_MAX}.` }),
      },
      complexity: ({ first }) => ({ field: 1, multiplier: first ?? 5 }),
      resolve: ({ id }, { first }, { loaders }) =>
        loaders.lastRuns.load({ id, after: '', limit: listed(first, SCHEDULE_LAST_RUNS_MAX) }),
    }),
    owner: t.exposeString('owner', {
      description: 'The token whose rights its runs have: the one that last created, updated or resumed the schedule.',
    }),
    createdBy: t.exposeString('createdBy', { description: 'Who created it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When a person last changed it.' }),
  }),
})

/** @throws RepriseError VALIDATION_FAILED */
function listed(first: number | null | undefined, most: number): number {
  const wanted = first ?? 5
  if (wanted >= 0 && wanted <= most) return wanted
  throw argumentError('first', `Must be 0 to ${most}.`)
}

builder.prismaObjectField(SessionNode, 'schedule', (t) =>
  t.field({
    type: ScheduleNode,
    nullable: true,
    description: 'The schedule that created its chain; null if there was none, or if it was deleted.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, { loaders }) => loaders.scheduleOfChain.load(chainId),
  }),
)
