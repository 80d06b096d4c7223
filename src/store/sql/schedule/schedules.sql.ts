import type { ScheduleOverlap } from '../../../domain/schedule.ts'
import type { SealedVariable } from '../../../domain/session/kernel-environment.ts'
import type { Queryable } from '../../database.ts'

/** The settings that a person gives a schedule. Durations are in seconds. */
export interface ScheduleSettings {
  name: string
  cron: string | null
  every: number | null
  timeZone: string
  overlap: ScheduleOverlap
  catchUp: number
  jitter: number
}

/** The session that its runs create: the input of `createSession` without its secrets, and the sealed secrets. */
export interface ScheduleTemplate {
  template: object
  secretEnviron: SealedVariable[]
}

/** The person whose rights its runs have. */
export interface ScheduleOwner {
  tokenId: string
  userId: string | null
  /** The name of the token. */
  owner: string
}

/** The time of its next run. */
export interface NextRun {
  plannedAt: Date
  dueAt: Date
}

interface StoredSchedule extends ScheduleSettings, ScheduleTemplate, ScheduleOwner {
  id: string
  projectId: string
  anchorAt: Date
  plannedAt: Date | null
  dueAt: Date | null
  paused: boolean
  queued: number
}

/** The columns of a StoredSchedule, from `schedules s`. */
export const SCHEDULE_COLUMNS = `s.id, s.project_id AS "projectId", s.name, s.cron, s.every, s.time_zone AS "timeZone",
  s.anchor_at AS "anchorAt", s.overlap, s.catch_up AS "catchUp", s.jitter, s.template,
  s.secret_environ AS "secretEnviron", s.token_id AS "tokenId", s.user_id AS "userId", s.owner,
  s.planned_at AS "plannedAt", s.due_at AS "dueAt",
  s.paused_at IS NOT NULL AS paused, s.queued`

interface NewSchedule extends ScheduleSettings, ScheduleTemplate, ScheduleOwner {
  id: string
  projectId: string
  anchorAt: Date
  next: NextRun
  /** The name of the person who created it paused; null if it starts at once. */
  pausedBy: string | null
  /** Null if the client chose no creation id. */
  creation: ScheduleCreation | null
}

/** The client's idempotency key, and the digest of the input with which it came. */
export interface ScheduleCreation {
  id: string
  digest: string
}

/** Serialises transactions that count a project's schedules or change their names. */
const LOCK_NAMES_SQL = `SELECT pg_advisory_xact_lock(hashtextextended('schedules of ' || $1::text, 0))`
const NAMES_SQL = `
SELECT count(*) AS count, min(id::text) FILTER (WHERE name = $2) AS "takenBy", reprise_now() AS now
FROM schedules WHERE project_id = $1`

/** What is read of a project's schedules, their names and creation ids, stays true until the transaction ends. */
export async function lockScheduleNames(tx: Queryable, projectId: string): Promise<void> {
  await tx.query(LOCK_NAMES_SQL, [projectId])
}

/** Counts schedules, and returns the id of the one that has the name, if any. Index: schedules(project_id, name). */
export async function readScheduleNames(
  tx: Queryable,
  projectId: string,
  name: string,
): Promise<{ count: number; takenBy: string | null; now: Date }> {
  return (await tx.query<{ count: number; takenBy: string | null; now: Date }>(NAMES_SQL, [projectId, name])).rows[0]!
}

export interface KnownSchedule {
  id: string
  creationDigest: string
}

const KNOWN_SQL = `SELECT id, creation_digest AS "creationDigest" FROM schedules WHERE project_id = $1 AND creation_id = $2`

/** Returns undefined if there is none with this creation id. Index: schedules(project_id, creation_id). */
export async function readByCreationId(
  tx: Queryable,
  projectId: string,
  creationId: string,
): Promise<KnownSchedule | undefined> {
  return (await tx.query<KnownSchedule>(KNOWN_SQL, [projectId, creationId])).rows[0]
}

const INSERT_SQL = `
INSERT INTO schedules (id, project_id, name, cron, every, time_zone, anchor_at, overlap, catch_up, jitter, template,
  secret_environ, token_id, user_id, owner, planned_at, due_at, paused_at, paused_by, created_by, creation_id, creation_digest)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
  CASE WHEN $18::text IS NOT NULL THEN reprise_now() END, $18, $15, $19, $20)`

export async function insertSchedule(tx: Queryable, schedule: NewSchedule): Promise<void> {
  const { id, projectId, name, cron, every, timeZone, anchorAt, overlap, catchUp, jitter, next, ...rest } = schedule
  const { template, secretEnviron, tokenId, userId, owner, pausedBy, creation } = rest
  const values = [id, projectId, name, cron, every, timeZone, anchorAt, overlap, catchUp, jitter]
  const stored = [JSON.stringify(template), JSON.stringify(secretEnviron)]
  const first = [next.plannedAt, next.dueAt, pausedBy, creation?.id ?? null, creation?.digest ?? null]
  await tx.query(INSERT_SQL, [...values, ...stored, tokenId, userId, owner, ...first])
}

const LOCK_SQL = `
SELECT ${SCHEDULE_COLUMNS}, p.name AS "projectName", reprise_now() AS now
FROM schedules s JOIN projects p ON p.id = s.project_id
WHERE s.id = $1 AND ($2::uuid IS NULL OR s.project_id = $2) FOR NO KEY UPDATE OF s`

export interface LockedSchedule extends StoredSchedule {
  projectName: string
  now: Date
}

/** Returns undefined if the viewer sees no such schedule. Waits until runs in progress are started. */
export async function lockSchedule(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<LockedSchedule | undefined> {
  return (await tx.query<LockedSchedule>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

const UPDATE_SQL = `
UPDATE schedules SET name = $2, cron = $3, every = $4, time_zone = $5, anchor_at = $6, overlap = $7, catch_up = $8,
  jitter = $9, template = $10, secret_environ = $11, token_id = $12, user_id = $13, owner = $14, planned_at = $15,
  due_at = $16, status_reason = NULL, updated_at = reprise_now()
WHERE id = $1`

export async function updateScheduleRow(
  tx: Queryable,
  id: string,
  after: ScheduleSettings & ScheduleTemplate & ScheduleOwner & { anchorAt: Date; next: NextRun | null },
): Promise<void> {
  const { name, cron, every, timeZone, anchorAt, overlap, catchUp, jitter, template, secretEnviron, next } = after
  const values = [id, name, cron, every, timeZone, anchorAt, overlap, catchUp, jitter]
  const stored = [JSON.stringify(template), JSON.stringify(secretEnviron)]
  const { tokenId, userId, owner } = after
  await tx.query(UPDATE_SQL, [...values, ...stored, tokenId, userId, owner, next?.plannedAt, next?.dueAt])
}

const PAUSE_SQL = `
UPDATE schedules SET paused_at = coalesce(paused_at, reprise_now()), paused_by = $2, pause_reason = $3, updated_at = reprise_now()
WHERE id = $1`

export async function pauseScheduleRow(tx: Queryable, id: string, by: string, reason: string | null): Promise<void> {
  await tx.query(PAUSE_SQL, [id, by, reason])
}

const RESUME_SQL = `
UPDATE schedules SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, status_reason = NULL, token_id = $2,
  user_id = $3, owner = $4, planned_at = $5, due_at = $6, updated_at = reprise_now()
WHERE id = $1`

export async function resumeScheduleRow(
  tx: Queryable,
  id: string,
  { tokenId, userId, owner }: ScheduleOwner,
  next: NextRun | null,
): Promise<void> {
  await tx.query(RESUME_SQL, [id, tokenId, userId, owner, next?.plannedAt, next?.dueAt])
}

const DELETE_SQL = `DELETE FROM schedules WHERE id = $1`

/** Deletes the schedule with its runs; the chains that it started stay. */
export async function deleteScheduleRow(tx: Queryable, id: string): Promise<void> {
  await tx.query(DELETE_SQL, [id])
}
