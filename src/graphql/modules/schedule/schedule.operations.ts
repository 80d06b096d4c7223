import { encodeGlobalID } from '@pothos/plugin-relay'
import {
  type CreateScheduleInput as Create,
  createSchedule,
  deleteSchedule,
  pauseSchedule,
  resumeSchedule,
  type UpdateScheduleInput as Update,
  updateSchedule,
} from '../../../services/schedule/change-schedule.ts'
import { listScheduleRuns, listSchedules, type ScheduleRunRow } from '../../../services/schedule/read-schedules.ts'
import { runScheduleNow } from '../../../services/schedule/run-schedule-now.ts'
import { builder } from '../../builder.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { pageComplexity } from '../../paging.ts'
import { ConflictError, ForbiddenError, NotFoundError, QuotaExceededError, ValidationError } from '../error.types.ts'
import { StringFilter } from '../filters.inputs.ts'
import { mutation } from '../mutation.ts'
import {
  CreateScheduleInput,
  DeleteScheduleInput,
  PauseScheduleInput,
  ResumeScheduleInput,
  RunScheduleNowInput,
  UpdateScheduleInput,
} from './schedule.inputs.ts'
import { ScheduleNode, ScheduleRun, ScheduleRunOutcomeEnum } from './schedule.types.ts'

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

/** A payload whose schedule is read after the commit. */
function schedulePayload<Extra extends object = object>(name: string, description: string) {
  return builder.objectRef<{ scheduleId: string } & Extra>(name).implement({
    description,
    fields: (t) => ({
      schedule: t.field({
        type: ScheduleNode,
        description: 'The schedule, as it is now.',
        // An earlier mutation of the same request may have loaded a state that is now outdated.
        resolve: async ({ scheduleId }: { scheduleId: string }, _args, { loaders }) =>
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

mutation({
  name: 'createSchedule',
  description:
    'Creates a schedule. What it runs is checked as by `createSession`; its runs have the rights of the token that creates it.',
  input: CreateScheduleInput,
  inputDescription: 'When to run what.',
  payload: schedulePayload('CreateSchedulePayload', 'A schedule that exists now.'),
  errors: [QuotaExceededError, ...SETTING_ERRORS],
  result: 'A schedule',
  run: (context, input) => createSchedule(context, input as Create),
})

mutation({
  name: 'updateSchedule',
  description: 'Changes a schedule. Its runs have the rights of the token that updates it from now on.',
  input: UpdateScheduleInput,
  inputDescription: 'Which, and what to change.',
  payload: schedulePayload('UpdateSchedulePayload', 'A changed schedule.'),
  errors: SETTING_ERRORS,
  result: 'The schedule',
  run: (context, input) => updateSchedule(context, input as Update),
})

mutation({
  name: 'pauseSchedule',
  description: 'Makes no runs until the schedule is resumed; what runs goes on, and what waits for it waits.',
  input: PauseScheduleInput,
  inputDescription: 'Which, and why.',
  payload: schedulePayload('PauseSchedulePayload', 'A paused schedule.'),
  errors: CHANGE_ERRORS,
  result: 'The schedule',
  run: pauseSchedule,
})

mutation({
  name: 'resumeSchedule',
  description:
    'Goes on with the next planned time; those that passed during the pause are not made. Runs have the rights of the token that resumes it from now on.',
  input: ResumeScheduleInput,
  inputDescription: 'Which.',
  payload: schedulePayload('ResumeSchedulePayload', 'A schedule that goes on.'),
  errors: [NotFoundError, ForbiddenError],
  result: 'The schedule',
  run: resumeSchedule,
})

const RunScheduleNowPayload = schedulePayload<{ run: ScheduleRunRow }>(
  'RunScheduleNowPayload',
  'A run that was asked for.',
)
builder.objectField(RunScheduleNowPayload, 'run', (t) =>
  t.expose('run', {
    type: ScheduleRun,
    description: 'The run: it started, waits, or was skipped for one that goes on.',
  }),
)

mutation({
  name: 'runScheduleNow',
  description:
    'Makes one more run at once, with the rights of the caller, also of a paused schedule. `overlap` counts as for a planned run.',
  input: RunScheduleNowInput,
  inputDescription: 'Which.',
  payload: RunScheduleNowPayload,
  errors: [...CHANGE_ERRORS, QuotaExceededError],
  result: 'The run',
  run: runScheduleNow,
})

const DeleteSchedulePayload = builder.objectRef<{ scheduleId: string }>('DeleteSchedulePayload').implement({
  description: 'A deleted schedule.',
  fields: (t) => ({
    scheduleId: t.expose('scheduleId', { type: 'UUID', description: 'The id that it had.' }),
    deletedId: t.id({
      description: 'The global id that it had, for caches.',
      resolve: ({ scheduleId }) => encodeGlobalID('Schedule', scheduleId),
    }),
  }),
})

mutation({
  name: 'deleteSchedule',
  description: 'Deletes a schedule with the record of its runs. The chains that it made stay, and go on.',
  input: DeleteScheduleInput,
  inputDescription: 'Which.',
  payload: DeleteSchedulePayload,
  errors: [NotFoundError, ForbiddenError],
  result: 'The deleted schedule',
  run: deleteSchedule,
})
