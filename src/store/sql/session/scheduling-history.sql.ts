import type { DeploymentPhase } from '../../../domain/deployment/lifecycle.ts'
import type { SchedulingResult, SessionPhase, SessionStatus } from '../../../domain/session/lifecycle.ts'
import type { SessionTimes, StatusStep } from '../../../domain/session/statistics.ts'
import { keepsPlan, type Queryable } from '../../database.ts'

/**
 * Builds the end of a statement whose CTE `moved` has "id", "from", "to", "outcome", "errorCode" and "message": it
 * writes a history row for each. If the status was kept and the newest row is equal, that row's counter is incremented
 * instead. `rows` names another CTE with one row per step, for moves of several steps; it is aliased as `v`. `agentIds`
 * is an expression for the agents that a row concerns. Index: scheduling_history(entity_id, id).
 */
export function recordHistory(
  entity: 'SESSION' | 'DEPLOYMENT' | 'ROUTE',
  { phase, rows = 'moved', agentIds = 'NULL::uuid[]' }: { phase: string; rows?: string; agentIds?: string },
): string {
  return `repeated AS (
  UPDATE scheduling_history h SET attempts = h.attempts + 1, last_at = reprise_now()
  FROM ${rows} v
  WHERE v."to" = v."from"
    AND h.entity_id = v.id AND h.id = (SELECT max(id) FROM scheduling_history WHERE entity_id = v.id)
    AND h.phase = ${phase} AND h.from_status = v."from"::text AND h.to_status = v."to"::text AND h.result = v."outcome"
    AND h.error_code IS NOT DISTINCT FROM v."errorCode" AND h.message IS NOT DISTINCT FROM v."message"
    AND h.agent_ids IS NOT DISTINCT FROM ${agentIds}
  RETURNING v.id
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, error_code, message, agent_ids)
  SELECT '${entity}', id, ${phase}, "from"::text, "to"::text, "outcome", "errorCode", "message", ${agentIds}
  FROM ${rows} v WHERE id NOT IN (SELECT id FROM repeated)
)`
}

export interface HistoryRow {
  entityId: string
  /** A decimal number that gives the order. */
  id: string
  phase: SessionPhase | DeploymentPhase
  fromStatus: string | null
  toStatus: string | null
  result: SchedulingResult
  errorCode: string | null
  message: string | null
  /** The agents that it concerns; null for none. */
  agentIds: string[] | null
  attempts: number
  firstAt: Date
  lastAt: Date
}

/** A part of rows that have serial ids: at most `limit` between two ids, from the beginning or from the end. */
export interface SerialWindow {
  /** 0 for the beginning. */
  after: string
  /** Null for the end. */
  before: string | null
  /** Whether the newest rows are read, and in which order they are returned. */
  backward: boolean
  limit: number
}

/** Reads such a part for each entity. Index: scheduling_history(entity_id, id). */
const windowStatement = (order: 'ASC' | 'DESC') => `
SELECT h.entity_id AS "entityId", h.id::text AS id, h.phase, h.from_status AS "fromStatus", h.to_status AS "toStatus",
  h.result, h.error_code AS "errorCode", h.message, h.agent_ids AS "agentIds", h.attempts, h.first_at AS "firstAt", h.last_at AS "lastAt"
FROM unnest($1::uuid[]) AS entity(id)
CROSS JOIN LATERAL (
  SELECT * FROM scheduling_history
  WHERE entity_id = entity.id AND id > $2::int8 AND id < coalesce($4::int8, 9223372036854775807)
  ORDER BY id ${order} LIMIT $3
) h
ORDER BY h.entity_id, h.id ${order}`
const FORWARD_SQL = windowStatement('ASC')
const BACKWARD_SQL = windowStatement('DESC')

export async function readSchedulingHistory(
  db: Queryable,
  entityIds: readonly string[],
  { after, before, backward, limit }: SerialWindow,
): Promise<HistoryRow[]> {
  const values = [entityIds, after, limit, before]
  return (await db.query<HistoryRow>(backward ? BACKWARD_SQL : FORWARD_SQL, values)).rows
}

const COUNT_SQL = `
SELECT entity_id AS id, count(*) AS count FROM scheduling_history WHERE entity_id = ANY($1::uuid[]) GROUP BY entity_id`

export async function countSchedulingHistory(
  db: Queryable,
  entityIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [entityIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}

interface TimesRow extends SessionTimes {
  sessionId: string
  now: Date
  steps: { to: SessionStatus; at: string }[]
}

/** Index: scheduling_history(entity_id, id). */
const TIMES_SQL = keepsPlan(`
SELECT s.id AS "sessionId", s.created_at AS "createdAt", s.started_at AS "startedAt",
  s.terminated_at AS "terminatedAt", reprise_now() AS now, (
    SELECT coalesce(json_agg(json_build_object('to', h.to_status, 'at', h.first_at) ORDER BY h.id), '[]')
    FROM scheduling_history h
    WHERE h.entity_id = s.id AND h.to_status IS NOT NULL AND h.to_status IS DISTINCT FROM h.from_status) AS steps
FROM sessions s WHERE s.id = ANY($1::uuid[])`)

/** Reads the times of sessions, with all changes of their statuses in order. */
export async function readSessionTimes(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<(Omit<TimesRow, 'steps'> & { steps: StatusStep[] })[]> {
  const { rows } = await db.query<TimesRow>(TIMES_SQL, [sessionIds])
  return rows.map((row) => ({ ...row, steps: row.steps.map(({ to, at }) => ({ to, at: new Date(at) })) }))
}
