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
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
    paused: t.boolean({ description: 'True: only paused schedules; false: only those that are not paused.' }),
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
      args: { filter: t.arg({ type: ScheduleFilter, description: 'Only schedules that match.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...page }, { services: { prisma }, viewer }) =>
        listSchedules({ prisma, viewer }, { filter: filter ?? {}, page }),
    },
    { name: 'ScheduleConnection', description: 'A page of schedules.' },
    { name: 'ScheduleEdge', description: 'One schedule with its cursor.' },
  ),
)

builder.queryField('scheduleRuns', (t) =>
  t.connection(
    {
      type: ScheduleRun,
      description: "The outcomes of a schedule's runs, latest planned time first.",
      args: {
        scheduleId: t.arg({ type: 'UUID', required: true, description: 'Id of the schedule.' }),
        outcome: t.arg({ type: [ScheduleRunOutcomeEnum], description: 'Only runs with one of these outcomes.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { scheduleId, outcome, ...page }, { services: { prisma }, viewer }) =>
        listScheduleRuns({ prisma, viewer }, { scheduleId, outcome, page }),
    },
    { name: 'ScheduleRunConnection', description: 'A page of runs.' },
    { name: 'ScheduleRunEdge', description: 'One run with its cursor.' },
  ),
)

/** A payload whose schedule is read after the commit. */
function schedulePayload<Extra extends object = object>(name: string, description: string) {
  return builder.objectRef<{ scheduleId: string } & Extra>(name).implement({
    description,
    fields: (t) => ({
      schedule: t.field({
        type: ScheduleNode,
        description: 'The schedule after the change.',
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

const CreateSchedulePayload = schedulePayload<{ created: boolean }>(
  'CreateSchedulePayload',
  'The schedule that was created or already existed.',
)
builder.objectField(CreateSchedulePayload, 'created', (t) =>
  t.exposeBoolean('created', { description: 'False if a schedule with this `creationId` already existed.' }),
)

mutation({
  name: 'createSchedule',
  description:
    'Creates a schedule. Idempotent with a `creationId`: the same id with the same input returns the same schedule, and with another input CREATION_ID_REUSED. Its `session` is checked as `createSession` does. Its runs have the rights of the token that creates the schedule.',
  input: CreateScheduleInput,
  inputDescription: 'The schedule to create.',
  payload: CreateSchedulePayload,
  errors: [QuotaExceededError, ...SETTING_ERRORS],
  result: 'The schedule',
  run: (context, input) => createSchedule(context, input as Create),
})

mutation({
  name: 'updateSchedule',
  description: 'Changes a schedule. From now on its runs have the rights of the token that updates it.',
  input: UpdateScheduleInput,
  inputDescription: 'The schedule, and the changes.',
  payload: schedulePayload('UpdateSchedulePayload', 'A changed schedule.'),
  errors: SETTING_ERRORS,
  result: 'The schedule',
  repeatable: true,
  run: (context, input) => updateSchedule(context, input as Update),
})

mutation({
  name: 'pauseSchedule',
  description:
    'Pauses a schedule: it makes no runs until it is resumed. Active runs continue, and waiting runs keep waiting.',
  input: PauseScheduleInput,
  inputDescription: 'The schedule, and the reason.',
  payload: schedulePayload('PauseSchedulePayload', 'A paused schedule.'),
  errors: CHANGE_ERRORS,
  result: 'The schedule',
  readsReason: true,
  repeatable: true,
  run: pauseSchedule,
})

mutation({
  name: 'resumeSchedule',
  description:
    'Resumes a schedule at its next planned time. Runs whose planned time passed during the pause are not made. From now on runs have the rights of the token that resumes it.',
  input: ResumeScheduleInput,
  inputDescription: 'The schedule to resume.',
  payload: schedulePayload('ResumeSchedulePayload', 'A resumed schedule.'),
  errors: [NotFoundError, ForbiddenError],
  result: 'The schedule',
  repeatable: true,
  run: resumeSchedule,
})

const RunScheduleNowPayload = schedulePayload<{ run: ScheduleRunRow; created: boolean }>(
  'RunScheduleNowPayload',
  'A run that was requested.',
)
builder.objectFields(RunScheduleNowPayload, (t) => ({
  run: t.expose('run', {
    type: ScheduleRun,
    description: 'The run: it started, waits, or was skipped because an earlier one is still active.',
  }),
  created: t.exposeBoolean('created', {
    description: 'False if the `clientKey` was known: `run` is the run that the first request made.',
  }),
}))

mutation({
  name: 'runScheduleNow',
  description:
    'Makes one additional run at once, with the rights of the caller. Works for a paused schedule, too. `overlap` applies as for a planned run.',
  input: RunScheduleNowInput,
  inputDescription: 'The schedule to run.',
  payload: RunScheduleNowPayload,
  errors: [...CHANGE_ERRORS, QuotaExceededError],
  result: 'The run',
  run: runScheduleNow,
})

const DeleteSchedulePayload = builder.objectRef<{ scheduleId: string }>('DeleteSchedulePayload').implement({
  description: 'A deleted schedule.',
  fields: (t) => ({
    scheduleId: t.expose('scheduleId', { type: 'UUID', description: 'Its id.' }),
    deletedId: t.id({
      description: 'Its global id, for caches.',
      resolve: ({ scheduleId }) => encodeGlobalID('Schedule', scheduleId),
    }),
  }),
})

mutation({
  name: 'deleteSchedule',
  description: 'Deletes a schedule with the record of its runs. The chains that it created stay and continue.',
  input: DeleteScheduleInput,
  inputDescription: 'The schedule to delete.',
  payload: DeleteSchedulePayload,
  errors: [NotFoundError, ForbiddenError],
  result: 'The deleted schedule',
  run: deleteSchedule,
})
