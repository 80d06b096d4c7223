import type { ScheduleOverlap } from '../../../domain/schedule/admit-runs.ts'
import type { SealedVariable } from '../../../domain/session/sealed-variable.ts'

/** What a person says of a schedule. Durations are in seconds. */
export interface ScheduleSettings {
  name: string
  cron: string | null
  every: number | null
  timeZone: string
  overlap: ScheduleOverlap
  catchUp: number
  jitter: number
}

/** The session that its runs create: the input of `createSession` without its secrets, and these, sealed. */
export interface ScheduleTemplate {
  template: object
  secretEnviron: SealedVariable[]
}

/** With whose rights its runs are made. */
export interface ScheduleOwner {
  tokenId: string
  userId: string | null
  /** The name of the token. */
  owner: string
}

/** When it runs next. */
export interface NextRun {
  plannedAt: Date
  dueAt: Date
}

export interface StoredSchedule extends ScheduleSettings, ScheduleTemplate, ScheduleOwner {
  id: string
  projectId: string
  anchorAt: Date
  plannedAt: Date | null
  dueAt: Date | null
  paused: boolean
  queued: number
}

/** A StoredSchedule, from `schedules s`. */
export const SCHEDULE_COLUMNS = `s.id, s.project_id AS "projectId", s.name, s.cron, s.every, s.time_zone AS "timeZone",
  s.anchor_at AS "anchorAt", s.overlap, s.catch_up AS "catchUp", s.jitter, s.template,
  s.secret_environ AS "secretEnviron", s.token_id AS "tokenId", s.user_id AS "userId", s.owner,
  s.planned_at AS "plannedAt", s.due_at AS "dueAt",
  s.paused_at IS NOT NULL AS paused, s.queued`
