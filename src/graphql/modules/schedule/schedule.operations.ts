import { listScheduleRuns, listSchedules, type ScheduleRunRow } from '../../../services/schedule/read-schedules.ts'
import { builder } from '../../builder.ts'
import { pageComplexity } from '../../paging.ts'
import { StringFilter } from '../filters.inputs.ts'
import { ScheduleNode, ScheduleRun, ScheduleRunOutcomeEnum } from './schedule.types.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { deleteSchedule, pauseSchedule, resumeSchedule } from '../../../services/schedule/change-schedule.ts'
import { type CreateScheduleInput as Create, createSchedule } from '../../../services/schedule/create-schedule.ts'
import { runScheduleNow } from '../../../services/schedule/run-schedule-now.ts'
import { type UpdateScheduleInput as Update, updateSchedule } from '../../../services/schedule/update-schedule.ts'
import {
  asResult,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  QuotaExceededError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import { stillThere } from '../../loaders/load-session.ts'
import {
  CreateScheduleInput,
  DeleteScheduleInput,
  PauseScheduleInput,
  ResumeScheduleInput,
  RunScheduleNowInput,
  UpdateScheduleInput,
} from './schedule.inputs.ts'

const ScheduleFilter = builder.inputType('ScheduleFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    paused: t.boolean({ description: 'Paused ones, or those that are not.' }),
  }),
})

builder.queryField('schedule', (t) =>
  t.field({
    type: ScheduleNode,
    nullable: true,
    description: 'One schedule; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `scheduleId`.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.schedules.load(id),
  }),
)

builder.queryField('schedules', (t) =>
  t.connection(
    {
      type: ScheduleNode,
      description: 'Schedules, newest first.',
      args: { filter: t.arg({ type: ScheduleFilter, description: 'Which schedules.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...page }, { services: { prisma }, viewer }) =>
        listSchedules({ prisma, viewer }, { filter: filter ?? {}, page }),
    },
    { name: 'ScheduleConnection', description: 'A page of schedules.' },
    { name: 'ScheduleEdge', description: 'One schedule and its place.' },
  ),
)

builder.queryField('scheduleRuns', (t) =>
  t.connection(
    {
      type: ScheduleRun,
      description: 'What became of the runs of a schedule, the latest planned first.',
      args: {
        scheduleId: t.arg({ type: 'UUID', required: true, description: 'Which schedule.' }),
        outcome: t.arg({ type: [ScheduleRunOutcomeEnum], description: 'With one of these outcomes.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { scheduleId, outcome, ...page }, { services: { prisma }, viewer }) =>
        listScheduleRuns({ prisma, viewer }, { scheduleId, outcome, page }),
    },
    { name: 'ScheduleRunConnection', description: 'A page of runs.' },
    { name: 'ScheduleRunEdge', description: 'One run and its place.' },
  ),
)

interface SchedulePayload<Name extends string = string> {
  __typename: Name
  scheduleId: string
}

/** A payload whose schedule is read after the commit. */
function schedulePayload<Shape extends SchedulePayload>(name: Shape['__typename'], description: string) {
  return builder.objectRef<Shape>(name).implement({
    description,
    fields: (t) => ({
      schedule: t.field({
        type: ScheduleNode,
        description: 'The schedule, as it is now.',
        // An earlier mutation of the same request may have loaded a state that is now outdated.
        resolve: async ({ scheduleId }: SchedulePayload, _args, { loaders }) =>
          stillThere(
            loaders.schedules
              .clear(scheduleId)
              .load(scheduleId)
              .then((schedule) => schedule ?? null),
            'SCHEDULE_NOT_FOUND',
          ),
      }),
    }),
  })
}

const SETTING_ERRORS = [ValidationError, NotFoundError, ConflictError, ForbiddenError]
const CHANGE_ERRORS = [ValidationError, NotFoundError, ForbiddenError]

const CreateScheduleResult = builder.unionType('CreateScheduleResult', {
  description: 'A schedule, or an error that the caller can correct.',
  types: [
    schedulePayload<SchedulePayload<'CreateSchedulePayload'>>('CreateSchedulePayload', 'A schedule that exists now.'),
    QuotaExceededError,
    ...SETTING_ERRORS,
  ],
  resolveType: typeOf,
})

builder.mutationField('createSchedule', (t) =>
  t.field({
    type: CreateScheduleResult,
    description:
      'Creates a schedule. What it runs is checked as by `createSession`; its runs have the rights of the token that creates it.',
    args: { input: t.arg({ type: CreateScheduleInput, required: true, description: 'When to run what.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateSchedulePayload' as const,
        ...(await createSchedule(context, input as Create)),
      })),
  }),
)

const UpdateScheduleResult = builder.unionType('UpdateScheduleResult', {
  description: 'The schedule, or an error that the caller can correct.',
  types: [
    schedulePayload<SchedulePayload<'UpdateSchedulePayload'>>('UpdateSchedulePayload', 'A changed schedule.'),
    ...SETTING_ERRORS,
  ],
  resolveType: typeOf,
})

builder.mutationField('updateSchedule', (t) =>
  t.field({
    type: UpdateScheduleResult,
    description: 'Changes a schedule. Its runs have the rights of the token that updates it from now on.',
    args: { input: t.arg({ type: UpdateScheduleInput, required: true, description: 'Which, and what to change.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'UpdateSchedulePayload' as const,
        ...(await updateSchedule(context, input as Update)),
      })),
  }),
)

const PauseScheduleResult = builder.unionType('PauseScheduleResult', {
  description: 'The schedule, or an error that the caller can correct.',
  types: [
    schedulePayload<SchedulePayload<'PauseSchedulePayload'>>('PauseSchedulePayload', 'A paused schedule.'),
    ...CHANGE_ERRORS,
  ],
  resolveType: typeOf,
})

builder.mutationField('pauseSchedule', (t) =>
  t.field({
    type: PauseScheduleResult,
    description: 'Makes no runs until the schedule is resumed; what runs goes on, and what waits for it waits.',
    args: { input: t.arg({ type: PauseScheduleInput, required: true, description: 'Which, and why.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'PauseSchedulePayload' as const, ...(await pauseSchedule(context, input)) })),
  }),
)

const ResumeScheduleResult = builder.unionType('ResumeScheduleResult', {
  description: 'The schedule, or an error that the caller can correct.',
  types: [
    schedulePayload<SchedulePayload<'ResumeSchedulePayload'>>('ResumeSchedulePayload', 'A schedule that goes on.'),
    NotFoundError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('resumeSchedule', (t) =>
  t.field({
    type: ResumeScheduleResult,
    description:
      'Goes on with the next planned time; those that passed during the pause are not made. Runs have the rights of the token that resumes it from now on.',
    args: { input: t.arg({ type: ResumeScheduleInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'ResumeSchedulePayload' as const,
        ...(await resumeSchedule(context, input)),
      })),
  }),
)

interface RunShape extends SchedulePayload<'RunScheduleNowPayload'> {
  run: ScheduleRunRow
}

const RunScheduleNowPayload = schedulePayload<RunShape>('RunScheduleNowPayload', 'A run that was asked for.')
builder.objectField(RunScheduleNowPayload, 'run', (t) =>
  t.expose('run', {
    type: ScheduleRun,
    description: 'The run: it started, waits, or was skipped for one that goes on.',
  }),
)

const RunScheduleNowResult = builder.unionType('RunScheduleNowResult', {
  description: 'The run, or an error that the caller can correct.',
  types: [RunScheduleNowPayload, ...CHANGE_ERRORS, QuotaExceededError],
  resolveType: typeOf,
})

builder.mutationField('runScheduleNow', (t) =>
  t.field({
    type: RunScheduleNowResult,
    description:
      'Makes one more run at once, with the rights of the caller, also of a paused schedule. `overlap` counts as for a planned run.',
    args: { input: t.arg({ type: RunScheduleNowInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'RunScheduleNowPayload' as const,
        ...(await runScheduleNow(context, input)),
      })),
  }),
)

const DeleteSchedulePayload = builder
  .objectRef<SchedulePayload<'DeleteSchedulePayload'>>('DeleteSchedulePayload')
  .implement({
    description: 'A deleted schedule.',
    fields: (t) => ({
      scheduleId: t.expose('scheduleId', { type: 'UUID', description: 'The id that it had.' }),
      deletedId: t.id({
        description: 'The global id that it had, for caches.',
        resolve: ({ scheduleId }) => encodeGlobalID('Schedule', scheduleId),
      }),
    }),
  })

const DeleteScheduleResult = builder.unionType('DeleteScheduleResult', {
  description: 'The deleted schedule, or an error that the caller can correct.',
  types: [DeleteSchedulePayload, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('deleteSchedule', (t) =>
  t.field({
    type: DeleteScheduleResult,
    description: 'Deletes a schedule with the record of its runs. The chains that it made stay, and go on.',
    args: { input: t.arg({ type: DeleteScheduleInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'DeleteSchedulePayload' as const,
        ...(await deleteSchedule(context, input)),
      })),
  }),
)
