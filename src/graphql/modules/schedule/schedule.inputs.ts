import { builder } from '../../builder.ts'
import { CreateSessionInput } from '../session/session.inputs.ts'
import { ScheduleOverlapEnum } from './schedule.types.ts'

const CRON =
  'Five fields, as in `30 2 * * 1-5`, or a name like `@daily`. Local times that daylight saving skips or repeats: see docs/schedules.md.'
const EVERY = 'Seconds between two runs, at least 1; instead of `cron`.'
const SESSION =
  'What to run, and how. Its project is the schedule’s; `creationId`, `startsAt` and `dependsOn` are not for schedules.'

export const CreateScheduleInput = builder.inputType('CreateScheduleInput', {
  description: 'When to run what. Either `cron` or `every` must be given.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique in its project.' }),
    cron: t.string({ description: CRON }),
    every: t.float({ description: EVERY }),
    timeZone: t.string({ defaultValue: 'UTC', description: 'Time zone of `cron`, like `Europe/Berlin`.' }),
    overlap: t.field({
      type: ScheduleOverlapEnum,
      defaultValue: 'SKIP',
      description: 'What happens to a run that is due while an earlier one goes on.',
    }),
    catchUp: t.int({
      defaultValue: 1,
      description: 'How many missed runs to make after a downtime, the last ones: 0 to 100.',
    }),
    jitter: t.float({
      defaultValue: 0,
      description: 'Spreads runs over so many seconds after their planned time, at most 3600.',
    }),
    paused: t.boolean({ defaultValue: false, description: 'Make no runs until it is resumed.' }),
    session: t.field({ type: CreateSessionInput, required: true, description: SESSION }),
  }),
})

export const UpdateScheduleInput = builder.inputType('UpdateScheduleInput', {
  description: 'What to change; fields that are missing or null stay as they are.',
  fields: (t) => ({
    scheduleId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    name: t.string({ description: 'Its name, unique in its project.' }),
    cron: t.string({ description: `${CRON} Replaces \`every\`.` }),
    every: t.float({ description: 'Seconds between two runs, at least 1. Replaces `cron`.' }),
    timeZone: t.string({ description: 'Time zone of `cron`.' }),
    overlap: t.field({ type: ScheduleOverlapEnum, description: 'What happens to runs that overlap.' }),
    catchUp: t.int({ description: 'How many missed runs to make: 0 to 100.' }),
    jitter: t.float({ description: 'Over how many seconds to spread runs.' }),
    session: t.field({
      type: CreateSessionInput,
      description: 'What to run from now on; replaces all of it, secret variables included.',
    }),
  }),
})

export const PauseScheduleInput = builder.inputType('PauseScheduleInput', {
  description: 'Which schedule to pause.',
  fields: (t) => ({
    scheduleId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    reason: t.string({ description: 'Why, for people.' }),
  }),
})

const only = (name: string, description: string) =>
  builder.inputType(name, {
    description,
    fields: (t) => ({ scheduleId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
  })

export const ResumeScheduleInput = only('ResumeScheduleInput', 'Which schedule to resume.')
export const RunScheduleNowInput = only('RunScheduleNowInput', 'Which schedule to run.')
export const DeleteScheduleInput = only('DeleteScheduleInput', 'Which schedule to delete.')
