import type { ScheduleRunOutcome } from '../../../domain/schedule.ts'
import type { ErrorCode } from '../../../domain/errors.ts'
import type { Queryable } from '../../database.ts'
import { GOES_ON } from './claim-schedules.sql.ts'
import type { NextRun } from './schedules.sql.ts'

/** The facts about a schedule's earlier runs that its next runs depend on. */
export interface ScheduleState {
  id: string
  /** Whether one of its chains is still running. */
  open: boolean
  /** Queued runs, oldest first. */
  waiting: { id: string; plannedAt: string }[]
  last: {
    id: string
    outcome: ScheduleRunOutcome
    askedBy: string | null
    code: string | null
    reason: string | null
  } | null
}

/**
 * Reads after the lock, in a separate statement, so that it sees chains that other transactions committed before the
 * lock was acquired. Indexes: chains_of_schedule, schedule_runs_queued, schedule_runs(schedule_id, planned_at).
 */
const STATE_SQL = `
SELECT s.id, ${GOES_ON} AS open,
  coalesce((SELECT json_agg(json_build_object('id', r.id, 'plannedAt', r.planned_at) ORDER BY r.planned_at)
    FROM schedule_runs r WHERE r.schedule_id = s.id AND r.outcome = 'QUEUED'), '[]') AS waiting,
  (SELECT json_build_object('id', r.id, 'outcome', r.outcome, 'askedBy', r.asked_by, 'code', r.code, 'reason', r.reason)
    FROM schedule_runs r WHERE r.schedule_id = s.id ORDER BY r.planned_at DESC LIMIT 1) AS last
FROM unnest($1::uuid[]) AS s(id)`

/** Reads by schedule id. */
export async function readScheduleStates(tx: Queryable, ids: readonly string[]): Promise<Map<string, ScheduleState>> {
  const { rows } = await tx.query<ScheduleState>(STATE_SQL, [ids])
  return new Map(rows.map((row) => [row.id, row]))
}

const MADE_SQL = `
SELECT r.schedule_id AS "scheduleId", r.planned_at AS "plannedAt"
FROM unnest($1::uuid[], $2::timestamptz[]) AS i(schedule_id, planned_at)
JOIN schedule_runs r ON r.schedule_id = i.schedule_id AND r.planned_at = i.planned_at`

export interface PlannedRun {
  scheduleId: string
  plannedAt: Date
}

/** Reads which of these runs exist already, for example after the database's clock went back. */
export async function readMadeRuns(tx: Queryable, runs: readonly PlannedRun[]): Promise<PlannedRun[]> {
  const values = [runs.map(({ scheduleId }) => scheduleId), runs.map(({ plannedAt }) => plannedAt)]
  return (await tx.query<PlannedRun>(MADE_SQL, values)).rows
}

/** A run of a schedule that the transaction has locked. */
export interface WrittenRun {
  id: string
  /** NEW inserts a row. WAITED updates the row of a queued run; SAME increments the count of a row. */
  row: 'NEW' | 'WAITED' | 'SAME'
  scheduleId: string
  plannedAt: Date
  lastPlannedAt: Date
  count: number
  outcome: ScheduleRunOutcome
  askedBy: string | null
  /** The idempotency key of the request; null for a planned run. */
  clientKey: string | null
  chainId: string | null
  code: ErrorCode | null
  reason: string | null
}

/** The unique key on (schedule_id, planned_at) makes a second run of one planned time an error. */
const WRITE_SQL = `
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i("id" uuid, "row" text, "scheduleId" uuid, "plannedAt" timestamptz,
    "lastPlannedAt" timestamptz, "count" int, "outcome" schedule_run_outcome, "askedBy" text, "clientKey" text,
    "chainId" uuid, "code" text, "reason" text)
), inserted AS (
  INSERT INTO schedule_runs (id, schedule_id, planned_at, last_planned_at, count, outcome, asked_by, client_key, chain_id, code,
    reason)
  SELECT i."id", i."scheduleId", i."plannedAt", i."lastPlannedAt", i."count", i."outcome", i."askedBy",
    i."clientKey", i."chainId", i."code", i."reason" FROM input i WHERE i."row" = 'NEW'
), waited AS (
  UPDATE schedule_runs r SET outcome = i."outcome", chain_id = i."chainId", code = i."code", reason = i."reason",
    decided_at = reprise_now()
  FROM input i WHERE i."row" = 'WAITED' AND r.id = i."id"
), same AS (
  UPDATE schedule_runs r SET count = r.count + i."count", last_planned_at = i."lastPlannedAt", decided_at = reprise_now()
  FROM input i WHERE i."row" = 'SAME' AND r.id = i."id"
)
UPDATE chains c SET schedule_id = i."scheduleId" FROM input i WHERE c.chain_id = i."chainId"`

export async function writeScheduleRuns(tx: Queryable, runs: readonly WrittenRun[]): Promise<void> {
  if (runs.length > 0) await tx.query(WRITE_SQL, [JSON.stringify(runs)])
}

/** The state of a schedule after its runs were started. */
export interface AdvancedSchedule {
  id: string
  next: NextRun | null
  queued: number
  /** Why a run was refused; null clears it, undefined leaves it. */
  statusReason?: string | null
}

const ADVANCE_SQL = `
UPDATE schedules s SET planned_at = i."plannedAt", due_at = i."dueAt", queued = i."queued",
  status_reason = CASE WHEN i."told" THEN i."statusReason" ELSE s.status_reason END
FROM json_to_recordset($1::json) AS i("id" uuid, "plannedAt" timestamptz, "dueAt" timestamptz, "queued" int,
  "told" boolean, "statusReason" text)
WHERE s.id = i."id"`

export async function advanceSchedules(tx: Queryable, schedules: readonly AdvancedSchedule[]): Promise<void> {
  const rows = schedules.map(({ id, next, queued, statusReason }) => ({
    id,
    queued,
    plannedAt: next?.plannedAt ?? null,
    dueAt: next?.dueAt ?? null,
    told: statusReason !== undefined,
    statusReason: statusReason ?? null,
  }))
  await tx.query(ADVANCE_SQL, [JSON.stringify(rows)])
}

export interface OpenAttempt {
  scheduleId: string
  sessionId: string
}

/** Reads the newest attempts of the chains that are still running. Index: chains_of_schedule. */
const OPEN_SQL = `
SELECT c.schedule_id AS "scheduleId", c.tail_id AS "sessionId" FROM chains c
WHERE c.schedule_id = ANY($1::uuid[]) AND c.state IN ('LIVE', 'WAITING_RETRY', 'HELD')`

export async function readOpenAttempts(tx: Queryable, scheduleIds: readonly string[]): Promise<OpenAttempt[]> {
  return (await tx.query<OpenAttempt>(OPEN_SQL, [scheduleIds])).rows
}

/** The outcome of a planned run, or of several consecutive ones that started nothing. */
export interface ScheduleRunRow {
  id: string
  scheduleId: string
  plannedAt: Date
  lastPlannedAt: Date
  count: number
  outcome: ScheduleRunOutcome
  askedBy: string | null
  chainId: string | null
  code: string | null
  reason: string | null
  decidedAt: Date
}

const RUN_COLUMNS = `r.id, r.schedule_id AS "scheduleId", r.planned_at AS "plannedAt", r.last_planned_at AS "lastPlannedAt",
  r.count, r.outcome, r.asked_by AS "askedBy", r.chain_id AS "chainId", r.code, r.reason, r.decided_at AS "decidedAt"`

/** Index: the unique key. */
const BY_KEY_SQL = `SELECT ${RUN_COLUMNS} FROM schedule_runs r WHERE r.schedule_id = $1 AND r.client_key = $2`

/** Reads the run that a request with this key made; undefined if there is none. */
export async function readRunByKey(
  tx: Queryable,
  scheduleId: string,
  key: string,
): Promise<ScheduleRunRow | undefined> {
  return (await tx.query<ScheduleRunRow>(BY_KEY_SQL, [scheduleId, key])).rows[0]
}

/** Index: schedule_runs(schedule_id, planned_at). */
const SQL = `
SELECT ${RUN_COLUMNS}
FROM unnest($1::uuid[]) AS s(id) CROSS JOIN LATERAL (
  SELECT * FROM schedule_runs WHERE schedule_id = s.id ORDER BY planned_at DESC LIMIT $2) AS r
ORDER BY r.schedule_id, r.planned_at DESC`

/** Reads the newest runs of each schedule, newest first. */
export async function readLastRuns(
  db: Queryable,
  scheduleIds: readonly string[],
  limit: number,
): Promise<ScheduleRunRow[]> {
  return (await db.query<ScheduleRunRow>(SQL, [scheduleIds, limit])).rows
}
