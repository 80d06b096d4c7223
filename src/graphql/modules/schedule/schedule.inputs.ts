import { builder } from '../../builder.ts'
import { CreateSessionInput } from '../session/session-spec.types.ts'
import { ScheduleOverlapEnum } from './schedule.types.ts'
import { keyField, reasonField, repeatableFields } from '../mutation.ts'

const CRON =
  'A cron expression of five fields, such as `30 2 * * 1-5`, or a name like `@daily`. For local times that daylight saving skips or repeats, see docs/schedules.md.'
const EVERY = 'Seconds between two runs, at least 1; instead of `cron`.'
const SESSION =
  'Specification of the session to create. Its project is that of the schedule; `creationId`, `startsAt` and `dependsOn` are not allowed.'

export const CreateScheduleInput = builder.inputType('CreateScheduleInput', {
  description: 'The schedule to create. Either `cron` or `every` must be given.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique in its project.' }),
    cron: t.string({ description: CRON }),
    every: t.float({ description: EVERY }),
    timeZone: t.string({ defaultValue: 'UTC', description: 'Time zone of `cron`, like `Europe/Berlin`.' }),
    overlap: t.field({
      type: ScheduleOverlapEnum,
      defaultValue: 'SKIP',
      description: 'What happens to a run that is due while an earlier one is still active.',
    }),
    catchUp: t.int({
      defaultValue: 1,
      description: 'Number of missed runs to make after a downtime, 0 to 100; the latest ones are made.',
    }),
    jitter: t.float({
      defaultValue: 0,
      description: 'Delays each run by up to this number of seconds after its planned time, at most 3600.',
    }),
    paused: t.boolean({
      defaultValue: false,
      description: 'True: creates it paused, so that it makes no runs until it is resumed.',
    }),
    creationId: t.string({ description: 'Idempotency key chosen by the client, unique in the project.' }),
    session: t.field({ type: CreateSessionInput, required: true, description: SESSION }),
  }),
})

export const UpdateScheduleInput = builder.inputType('UpdateScheduleInput', {
  description: 'Changes of a schedule; fields that are missing or null stay as they are.',
  fields: (t) => ({
    scheduleId: t.field({ type: 'UUID', required: true, description: 'Id of the schedule.' }),
    name: t.string({ description: 'Its name, unique in its project.' }),
    cron: t.string({ description: `${CRON} Replaces \`every\`.` }),
    every: t.float({ description: 'Seconds between two runs, at least 1. Replaces `cron`.' }),
    timeZone: t.string({ description: 'Time zone of `cron`.' }),
    overlap: t.field({ type: ScheduleOverlapEnum, description: 'What happens to runs that overlap.' }),
    catchUp: t.int({ description: 'Number of missed runs to make after a downtime, 0 to 100.' }),
    jitter: t.float({ description: 'Maximum delay of a run after its planned time, in seconds.' }),
    session: t.field({
      type: CreateSessionInput,
      description:
        'Specification of the sessions from now on. Replaces all of the old one. Its secret variables stay if `secretEnviron` is missing; an empty list removes them.',
    }),
    ...repeatableFields(t),
  }),
})

export const PauseScheduleInput = builder.inputType('PauseScheduleInput', {
  description: 'The schedule to pause.',
  fields: (t) => ({
    scheduleId: t.field({ type: 'UUID', required: true, description: 'Id of the schedule.' }),
    reason: t.string({ description: 'The reason, for people.' }),
    ...keyField(t),
  }),
})

const only = (name: string, description: string, more: typeof reasonField = reasonField) =>
  builder.inputType(name, {
    description,
    fields: (t) => ({
      scheduleId: t.field({ type: 'UUID', required: true, description: 'Id of the schedule.' }),
      ...more(t),
    }),
  })

export const ResumeScheduleInput = only('ResumeScheduleInput', 'The schedule to resume.', repeatableFields)
export const RunScheduleNowInput = builder.inputType('RunScheduleNowInput', {
  description: 'The schedule to run.',
  fields: (t) => ({
    scheduleId: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
    clientKey: t.string({
      description:
        'Idempotency key chosen by the client, unique for the schedule: a request with the same key makes no second run, and returns the first one.',
    }),
    ...reasonField(t),
  }),
})
export const DeleteScheduleInput = only('DeleteScheduleInput', 'The schedule to delete.')
