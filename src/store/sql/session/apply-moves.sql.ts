import type { StatusData } from '../../../domain/session/failure.ts'
import type { KernelStatus, SchedulingResult, SessionResult, SessionStatus } from '../../../domain/session/lifecycle.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { EVENT_POSITION, insertStatusEvents } from '../event/event-data.sql.ts'
import { recordHistory } from './scheduling-history.sql.ts'

/** The coordinator's decision about one session that it has locked. */
export interface SessionMove {
  id: string
  from: SessionStatus
  /** Equal to `from` if the session keeps its status. */
  to: SessionStatus
  /**
   * The intermediate status of a move of two steps, whose second step the next handler would otherwise make; null for
   * none.
   */
  through: SessionStatus | null
  /** Null leaves the kernels unchanged. Kernels that have ended keep their status. */
  kernelTo: KernelStatus | null
  /** Only kernels in these statuses move to `kernelTo`; null for all. */
  kernelFrom: readonly KernelStatus[] | null
  /**
   * The status of kernels that failed before they ran and are tried again under a greater assignment; null if no kernel
   * is tried again.
   */
  failedKernelTo: KernelStatus | null
  outcome: SchedulingResult
  /** Tries so far in this status; 0 after a move. */
  tries: number
  /** Time until the next try; null for immediately. */
  pauseMs: number | null
  /** Kernels go back to PENDING and leave their agents. */
  rescheduled: boolean
  /** The agents that kept the session from starting: from now on they are chosen last, after those avoided before. */
  failedAgents: readonly string[]
  /** Set when the session is about to end. */
  result: SessionResult | null
  reason: string | null
  statusData: StatusData | null
  /** The reason why the session waits; null keeps the present reason. */
  pendingReason: string | null
  errorCode: string | null
  message: string | null
  /** The agents that the move concerns, for the history; null for none. */
  agentIds: readonly string[] | null
}

/**
 * Moves sessions and their kernels, and writes events and history: one statement per batch. Only moves that change the
 * status create an event. If the newest history row of the session is equal, its counter is incremented instead of
 * writing a new row. A move through an intermediate status is two events and two history rows, in this order, but one
 * write of the session's row.
 *
 * Locks: kernels in id order; the caller has locked the sessions.
 */
const SQL = keepsPlan(`
WITH moves AS (
  SELECT * FROM json_to_recordset($1::json) AS m(
    "id" uuid, "from" session_status, "to" session_status, "through" session_status, "kernelTo" kernel_status,
    "kernelFrom" kernel_status[], "failedKernelTo" kernel_status, "outcome" scheduling_result, "tries" int,
    "pauseMs" float8, "rescheduled" bool, "failedAgents" uuid[], "result" session_result, "reason" text,
    "statusData" jsonb, "pendingReason" text, "errorCode" text, "message" text, "agentIds" uuid[])
), moved AS (
  UPDATE sessions s SET
    -- A terminated session whose result is FAILURE ends in ERROR.
    status = CASE WHEN m."to" = 'TERMINATED' AND s.result = 'FAILURE' THEN 'ERROR' ELSE m."to" END,
    status_changed_at = CASE WHEN m."to" = m."from" THEN s.status_changed_at ELSE reprise_now() END,
    event_position = CASE WHEN m."to" = m."from" THEN s.event_position ELSE ${EVENT_POSITION} END,
    tries = m."tries",
    next_try_at = reprise_now() + make_interval(secs => m."pauseMs" / 1000),
    reschedules = s.reschedules + m."rescheduled"::int,
    -- No kernel has run the image yet, and the next agent may not be able to get it.
    image_digest = CASE WHEN m."rescheduled" THEN NULL ELSE s.image_digest END,
    avoid_agents = CASE WHEN cardinality(m."failedAgents") = 0 THEN s.avoid_agents
      ELSE ARRAY(SELECT agent FROM unnest(s.avoid_agents) WITH ORDINALITY AS avoided(agent, place)
        WHERE agent <> ALL(m."failedAgents") ORDER BY place) || m."failedAgents" END,
    pending_reason = CASE WHEN m."to" = 'PENDING' THEN coalesce(m."pendingReason", s.pending_reason) END,
    result = coalesce(m."result", s.result),
    status_reason = coalesce(m."reason", s.status_reason),
    status_data = coalesce(m."statusData", s.status_data),
    terminated_at = CASE WHEN m."to" IN ('TERMINATED', 'ERROR', 'CANCELLED') THEN reprise_now() END
  FROM moves m WHERE s.id = m.id AND s.status = m."from"
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.status_reason, m."from", m."through", s.status AS "to", m."kernelTo",
    m."kernelFrom", m."failedKernelTo", m."outcome", m."errorCode", m."message", m."agentIds", m."rescheduled"
), locked AS (
  SELECT k.id, v."rescheduled",
    CASE WHEN k.error IS NOT NULL THEN coalesce(v."failedKernelTo", v."kernelTo") ELSE v."kernelTo" END AS "to",
    k.error IS NOT NULL AND v."failedKernelTo" IS NOT NULL AS again
  FROM kernels k JOIN moved v ON v.id = k.session_id
  WHERE (v."kernelTo" IS NOT NULL OR v."failedKernelTo" IS NOT NULL)
    AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
    AND (v."kernelFrom" IS NULL OR k.status = ANY(v."kernelFrom"))
  ORDER BY k.id FOR NO KEY UPDATE OF k
), kernels_moved AS (
  UPDATE kernels k SET
    status = l."to",
    status_changed_at = reprise_now(),
    error = CASE WHEN l."rescheduled" OR l.again THEN NULL ELSE k.error END,
    agent_id = CASE WHEN l."rescheduled" THEN NULL ELSE k.agent_id END,
    assignment = k.assignment + (l."rescheduled" OR l.again)::int,
    confirmed_gone = k.confirmed_gone OR l."rescheduled",
    note = NULL, waits = false,
    waited_until = CASE WHEN l."rescheduled" OR l.again THEN NULL ELSE k.waited_until END,
    host = CASE WHEN l."rescheduled" OR l.again THEN NULL ELSE k.host END,
    slurm_job_id = CASE WHEN l."rescheduled" OR l.again THEN NULL ELSE k.slurm_job_id END,
    slots_held = k.slots_held AND l."to" NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED'),
    terminated_at = CASE WHEN l."to" IN ('TERMINATED', 'ERROR', 'CANCELLED') THEN reprise_now() END
  FROM locked l
  WHERE k.id = l.id AND (k.status <> l."to" OR l.again)
), steps AS (
  SELECT id, chain_id, project_id, event_position, status_reason, $2::text AS phase, "from", coalesce("through", "to") AS "to",
    "outcome", "errorCode", "message", "agentIds" FROM moved
  UNION ALL
  SELECT id, chain_id, project_id, event_position, status_reason, $3::text, "through", "to", "outcome", "errorCode", "message", "agentIds"
  FROM moved WHERE "through" IS NOT NULL
), events AS (
  ${insertStatusEvents('steps WHERE "to" <> "from"', { reason: 'status_reason' })}
), ${recordHistory('SESSION', { phase: 'v.phase', rows: 'steps', agentIds: 'v."agentIds"' })}
SELECT id FROM moved`)

/**
 * Returns the ids that moved; a missing one was moved by another transaction meanwhile. `next` is the phase that moves
 * a session on from the intermediate status.
 */
export async function applyMoves(
  tx: Queryable,
  phase: string,
  moves: readonly SessionMove[],
  next: string | null = null,
): Promise<Set<string>> {
  if (moves.length === 0) return new Set()
  const { rows } = await tx.query<{ id: string }>(SQL, [JSON.stringify(moves), phase, next])
  return new Set(rows.map((row) => row.id))
}
