import { v7 as uuidv7 } from 'uuid'
import { NotFoundError } from './errors.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import {
  CreateScheduleDocument,
  DeleteScheduleDocument,
  PauseScheduleDocument,
  ResumeScheduleDocument,
  RunScheduleNowDocument,
  ScheduleDocument,
  ScheduleRunsDocument,
  SchedulesDocument,
  UpdateScheduleDocument,
} from './operations.generated.ts'
import type {
  CreateScheduleInput,
  ScheduleFilter,
  ScheduleRunOutcome,
  UpdateScheduleInput,
} from './schema-types.generated.ts'
import { allPages, payloadOf } from './answers.ts'

export function scheduleOperations({ request }: Connection) {
  return {
    /**
     * Creates a schedule exactly once: a missing `creationId` is generated, so that the request can safely be repeated.
     * @throws ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError
     */
    async createSchedule(input: CreateScheduleInput, options?: CallOptions) {
      const keyed = { ...input, creationId: input.creationId ?? uuidv7() }
      const data = await request(CreateScheduleDocument, { input: keyed }, { ...options, idempotent: true })
      return payloadOf(data.createSchedule).schedule
    },

    /** Returns everything about a schedule, with its next and its last runs. @throws NotFoundError */
    async schedule(scheduleId: string, options?: CallOptions) {
      const { schedule } = await request(ScheduleDocument, { id: scheduleId }, options)
      if (schedule) return schedule
      throw new NotFoundError('SCHEDULE_NOT_FOUND', `There is no schedule ${scheduleId}.`)
    },

    /** Lists schedules, newest first. Pages are read as they are needed. */
    schedules({ filter }: { filter?: ScheduleFilter } = {}, options?: CallOptions) {
      return allPages(async (page) => (await request(SchedulesDocument, { filter, ...page }, options)).schedules)
    },

    /** Lists the outcomes of a schedule's runs, latest planned time first. Pages are read as they are needed. */
    scheduleRuns(scheduleId: string, { outcome }: { outcome?: ScheduleRunOutcome[] } = {}, options?: CallOptions) {
      return allPages(
        async (page) => (await request(ScheduleRunsDocument, { scheduleId, outcome, ...page }, options)).scheduleRuns,
      )
    },

    /** @throws ValidationError, NotFoundError, ConflictError, ForbiddenError */
    async updateSchedule(input: UpdateScheduleInput, options?: CallOptions) {
      const data = await request(UpdateScheduleDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.updateSchedule).schedule
    },

    /**
     * Pauses a schedule: it makes no runs until it is resumed. @throws ValidationError, NotFoundError, ForbiddenError
     */
    async pauseSchedule(scheduleId: string, reason?: string, options?: CallOptions) {
      const input = { scheduleId, reason }
      const data = await request(PauseScheduleDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.pauseSchedule).schedule
    },

    /** Resumes a schedule at its next planned time. @throws NotFoundError, ForbiddenError */
    async resumeSchedule(scheduleId: string, options?: CallOptions) {
      const data = await request(ResumeScheduleDocument, { input: { scheduleId } }, { ...options, idempotent: true })
      return payloadOf(data.resumeSchedule).schedule
    },

    /**
     * Makes one additional run exactly once: a missing `clientKey` is generated, so that the request can safely be
     * repeated. @throws ValidationError, NotFoundError, QuotaExceededError, ForbiddenError
     */
    async runScheduleNow(scheduleId: string, { clientKey, ...options }: CallOptions & { clientKey?: string } = {}) {
      const input = { scheduleId, clientKey: clientKey ?? uuidv7() }
      const data = await request(RunScheduleNowDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.runScheduleNow).run
    },

    /** Deletes a schedule with the record of its runs; the chains stay. @throws NotFoundError, ForbiddenError */
    async deleteSchedule(scheduleId: string, options?: CallOptions) {
      return payloadOf((await request(DeleteScheduleDocument, { input: { scheduleId } }, options)).deleteSchedule)
    },
  }
}
