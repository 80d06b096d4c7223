import { SCHEDULE_LAST_RUNS_MAX, SCHEDULE_NEXT_RUNS_MAX } from '../../../domain/limits.ts'
import { type SealedVariable, secretNames } from '../../../domain/session/kernel-environment.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import {
  nextRunsOf,
  type ScheduleRecord,
  type ScheduleRunRow,
  templateOf,
} from '../../../services/schedule/read-schedules.ts'
import type { ParsedCreateSession } from '../../../services/session/create-session-input.ts'
import { builder } from '../../builder.ts'
import { isUuid } from '../../ids.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { ProjectNode } from '../access/access.types.ts'
import { ClusterModeEnum, SessionNode, SessionTypeEnum } from '../session/session.types.ts'
import { EnvVar, Label, labelsOf, ResourceSlot, slotsOf } from '../session/values.types.ts'

export const ScheduleOverlapEnum = builder.enumType('ScheduleOverlap', {
  description: 'What happens to a run that is due while a chain of its schedule goes on.',
  values: {
    SKIP: { description: 'It is not made.' },
    QUEUE: { description: 'It waits until that has ended; at most 100 wait.' },
    CANCEL_OTHER: { description: 'What goes on is ended, and then the run starts.' },
  } as const,
})

export const ScheduleRunOutcomeEnum = builder.enumType('ScheduleRunOutcome', {
  description: 'What became of a run.',
  values: {
    STARTED: { description: 'It made a chain.' },
    QUEUED: { description: 'It waits for an earlier one to end.' },
    SKIPPED: { description: 'It was not made, because of another run: `reason` says why.' },
    MISSED: { description: 'No server could make it in time, and `catchUp` does not reach it.' },
    REFUSED: { description: 'Its session was refused, as `createSession` would have: `code` and `reason` say why.' },
  } as const,
})

type Template = ParsedCreateSession & { secretNames: string[] }

const ScheduledSession = builder.objectRef<Template>('ScheduledSession').implement({
  description: 'The session that the runs of a schedule create, as `createSession` would from the same input.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    sessionType: t.expose('sessionType', { type: SessionTypeEnum, description: 'What it is for.' }),
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
    clusterSize: t.exposeInt('clusterSize', { description: 'How many kernels it has.' }),
    clusterMode: t.expose('clusterMode', { type: ClusterModeEnum, description: 'How they are spread over agents.' }),
    batchTimeout: t.float({
      nullable: true,
      description: 'Seconds that user code may run.',
      resolve: ({ batchTimeout }) => batchTimeout ?? null,
    }),
    priority: t.exposeInt('priority', { description: '0 to 100; the higher goes first.' }),
    labels: t.field({ type: [Label], description: 'Its labels.', resolve: ({ labels }) => labelsOf(labels) }),
    maxRetries: t.int({
      nullable: true,
      description: 'The retries of each run, as given; null: by the defaults of its project when a run is made.',
      resolve: ({ retryPolicy }) => retryPolicy.maxRetries ?? null,
    }),
  }),
})

function scheduledSession(schedule: ScheduleRecord): Template | null {
  const template = templateOf(schedule)
  const secrets = schedule.secretEnviron as unknown as SealedVariable[]
  return template && { ...template, secretNames: secretNames(secrets) }
}

export const ScheduleRun = builder.objectRef<ScheduleRunRow>('ScheduleRun').implement({
  description: 'What became of a planned run. Runs in a row that made nothing, for one reason, are one with a `count`.',
  fields: (t) => ({
    runId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    plannedAt: t.expose('plannedAt', {
      type: 'DateTime',
      description: 'For when it was planned, without jitter; or when it was asked for.',
    }),
    lastPlannedAt: t.expose('lastPlannedAt', { type: 'DateTime', description: 'Of several, for when the last was.' }),
    count: t.exposeInt('count', { description: 'How many.' }),
    outcome: t.expose('outcome', { type: ScheduleRunOutcomeEnum, description: 'What became of it.' }),
    code: t.exposeString('code', { nullable: true, description: 'The code of the error, if it was refused.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why, in words.' }),
    askedBy: t.exposeString('askedBy', {
      nullable: true,
      description: 'Who asked for it by `runScheduleNow`; null if it was planned.',
    }),
    decidedAt: t.expose('decidedAt', { type: 'DateTime', description: 'When this became of it.' }),
    chainId: t.expose('chainId', { type: 'UUID', nullable: true, description: 'The chain that it made.' }),
    session: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The first attempt of that chain; null if there is none, or if it was removed as too old.',
      resolve: ({ chainId }, _args, context, info) =>
        chainId === null ? null : loadSession({ context, info, by: 'id', value: chainId }),
    }),
  }),
})

const ref = builder.objectRef<ScheduleRecord>('Schedule')

export const ScheduleNode = builder.node(ref, {
  description: 'A session that is created again and again: at the times of a cron expression, or at an interval.',
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
      description: 'When it runs, as a cron expression; null if at an interval.',
    }),
    every: t.exposeFloat('every', { nullable: true, description: 'The interval in seconds; null if by `cron`.' }),
    timeZone: t.exposeString('timeZone', { description: 'The time zone of the cron expression.' }),
    overlap: t.expose('overlap', {
      type: ScheduleOverlapEnum,
      description: 'What happens to a run that is due while an earlier one goes on.',
    }),
    catchUp: t.exposeInt('catchUp', {
      description: 'How many runs are made that were missed, the last ones, once a server can make them again.',
    }),
    jitter: t.exposeFloat('jitter', {
      description: 'Seconds by which a run starts later at most; how many is fixed for each planned time.',
    }),
    session: t.field({
      type: ScheduledSession,
      nullable: true,
      description: 'The session that its runs create; null if it is not valid any more, and runs are refused.',
      resolve: scheduledSession,
    }),
    paused: t.boolean({ description: 'Whether no runs are made.', resolve: ({ pausedAt }) => pausedAt !== null }),
    pausedAt: t.expose('pausedAt', { type: 'DateTime', nullable: true, description: 'Since when.' }),
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
      description: 'The next planned times, without jitter; of a paused one those if it were resumed now.',
      args: { first: t.arg.int({ defaultValue: 5, description: `How many, at most ${SCHEDULE_NEXT_RUNS_MAX}.` }) },
      complexity: ({ first }) => ({ field: first ?? 5 }),
      resolve: async (schedule, { first }, { loaders }) =>
        nextRunsOf(schedule, await loaders.now, listed(first, SCHEDULE_NEXT_RUNS_MAX)),
    }),
    queued: t.exposeInt('queued', { description: 'How many runs wait for an earlier one to end.' }),
    lastRuns: t.field({
      type: [ScheduleRun],
      description: 'Its last runs, newest first; `scheduleRuns` has all.',
      args: { first: t.arg.int({ defaultValue: 5, description: `How many, at most ${SCHEDULE_LAST_RUNS_MAX}.` }) },
      complexity: ({ first }) => ({ field: 1, multiplier: first ?? 5 }),
      resolve: ({ id }, { first }, { loaders }) =>
        loaders.lastRuns.load({ id, after: '', limit: listed(first, SCHEDULE_LAST_RUNS_MAX) }),
    }),
    owner: t.exposeString('owner', {
      description: 'The token with whose rights its runs are made: of whoever created, updated or resumed it last.',
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
    description: 'The schedule that made its chain; null if none did, or if that was deleted.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, { loaders }) => loaders.scheduleOfChain.load(chainId),
  }),
)
