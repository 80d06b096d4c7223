import type { FailureError } from '../../../domain/session/failure.ts'
import type { KernelStatus, LifecycleDeclaration } from '../../../domain/session/lifecycle.ts'
import type { Judged } from '../../../domain/session/judge.ts'
import { END_AWAITED_MAX_MS } from '../../../domain/limits.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { FAILED_EARLY, inStatuses, TIMED_OUT } from './promotion-parts.sql.ts'

export interface ClaimedKernel {
  id: string
  status: KernelStatus
  agentId: string | null
  /** The kernel's agent is lost or removed and will not report any more. */
  agentLost: boolean
  confirmedGone: boolean
  startedAt: string | null
  error: FailureError | null
  /** Time until its agent must have stopped it under its own fencing rule; 0 if that has passed. */
  fencedInMs: number
}

export interface ClaimBounds {
  /** Sessions to claim. */
  limit: number
  /** Added to a group's `fenceAfter`: after both, a silent agent's kernels are certain to be gone. */
  fenceMarginMs: number
}

/** A session that a lifecycle handler has locked until its transaction ends. */
export interface ClaimedSession extends Omit<Judged, 'waitedTooLong'> {
  id: string
  chainId: string
  attempt: number
  traceParent: string | null
  kernels: ClaimedKernel[]
}

/**
 * True if no kernel is, or was recently, in the queue of another scheduler. The timeout does not run there, and starts
 * anew afterwards.
 */
const NO_KERNEL_QUEUED = `(s.status <> 'CREATING' OR NOT EXISTS (
    SELECT FROM kernels k JOIN agents a ON a.id = k.agent_id
    WHERE k.session_id = s.id AND a.status NOT IN ('LOST', 'TERMINATED')
      AND (k.waits OR k.waited_until > reprise_now() - make_interval(secs => timeout.ms / 1000.0))))`

/**
 * True if the end of a timed-out session no longer depends on reports. The session ends only after the agents that
 * judge time have reported whether its kernels ended in time, unless these agents are lost; then the server decides
 * alone.
 */
const NO_REPORT_AWAITED = `(s.status <> 'TERMINATING' OR NOT ${TIMED_OUT}
    OR s.status_changed_at < reprise_now() - interval '${END_AWAITED_MAX_MS} ms'
    OR NOT EXISTS (SELECT FROM kernels k JOIN agents a ON a.id = k.agent_id
      WHERE k.session_id = s.id AND k.status = 'TERMINATING' AND k.in_time IS DISTINCT FROM false
        AND a.judges_time AND a.status NOT IN ('LOST', 'TERMINATED')))`

/**
 * The grace period of session `s` in group `g`, in milliseconds: the session's own, up to the group's maximum, or the
 * group's.
 */
export const STOP_GRACE_MS = `CASE WHEN s.stop_grace IS NULL THEN g.stop_grace_ms
  ELSE least(ceil(s.stop_grace * 1000), g.stop_grace_max_ms) END`

const EXPIRED = `(s.status_changed_at < reprise_now() - make_interval(secs => timeout.ms / 1000.0) AND ${NO_KERNEL_QUEUED}
    AND ${NO_REPORT_AWAITED})`

/** The queue wait of the kernel that has waited longest, if its agent still has to report. */
const QUEUED_TOO_LONG = `(SELECT json_build_object('reason', k.note, 'timeoutMs', g.queue_timeout_ms)
    FROM kernels k JOIN agents a ON a.id = k.agent_id
    WHERE s.status = 'CREATING' AND g.queue_timeout_ms IS NOT NULL AND k.session_id = s.id AND k.waits
      AND a.status NOT IN ('LOST', 'TERMINATED')
      AND k.status_changed_at < reprise_now() - make_interval(secs => g.queue_timeout_ms / 1000.0)
    ORDER BY k.status_changed_at LIMIT 1)`

/** What makes a handler claim a session, besides a timeout. */
export interface ClaimRule extends Pick<LifecycleDeclaration, 'sessionIn'> {
  /** Statuses of kernels to work on. */
  kernelIn: readonly KernelStatus[]
  /** Whether it claims sessions with a kernel that failed before it ran, too. */
  judgesFailures: boolean
}

const claimSql = ({ sessionIn, kernelIn, judgesFailures }: ClaimRule) => `
SELECT s.id, s.chain_id AS "chainId", s.attempt, s.trace_parent AS "traceParent",
  s.status, s.tries, s.reschedules, s.pending_reason AS "pendingReason",
  g.tries_max AS "triesMax", g.reschedules_max AS "reschedulesMax",
  time.expired IS TRUE AS expired, s.never_run_twice AS "neverRunTwice",
  queue.overdue AS "queuedTooLong",
  (SELECT coalesce(json_agg(json_build_object(
      'id', k.id, 'status', k.status, 'agentId', k.agent_id, 'agentLost', a.status IN ('LOST', 'TERMINATED'),
      'confirmedGone', k.confirmed_gone, 'startedAt', k.started_at, 'error', k.error,
      'fencedInMs', greatest(0, ceil(extract(epoch FROM a.last_heard_at - reprise_now()) * 1000) + a.fence_after_ms + $2))), '[]')
    FROM kernels k LEFT JOIN agents a ON a.id = k.agent_id WHERE k.session_id = s.id) AS kernels
FROM sessions s
JOIN resource_groups g ON g.name = s.resource_group
CROSS JOIN LATERAL (SELECT CASE
  WHEN s.status IN ('SCHEDULED', 'PREPARING', 'PULLING') THEN g.prepare_timeout_ms
  WHEN s.status IN ('PREPARED', 'CREATING') THEN g.create_timeout_ms
  WHEN s.status = 'TERMINATING' THEN g.terminate_timeout_ms + greatest(0, (${STOP_GRACE_MS}) - g.stop_grace_ms) END AS ms) AS timeout
-- With an offset it is planned and evaluated once, though it is used twice.
CROSS JOIN LATERAL (SELECT ${EXPIRED} AS expired OFFSET 0) AS time
CROSS JOIN LATERAL (SELECT ${QUEUED_TOO_LONG} AS overdue OFFSET 0) AS queue
WHERE ${inStatuses('s.status', 'session_status', sessionIn)}
  AND (s.next_try_at IS NULL OR s.next_try_at <= reprise_now())
  AND (time.expired
    OR queue.overdue IS NOT NULL
    OR EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id
      AND (${inStatuses('k.status', 'kernel_status', kernelIn)}${judgesFailures ? ` OR (${FAILED_EARLY})` : ''})))
ORDER BY s.status_changed_at
LIMIT $1
FOR UPDATE OF s SKIP LOCKED`

/**
 * Makes the claim of one handler. It takes sessions longest in their status first: those with kernels to work on, with a
 * kernel that failed before it ran, or past the timeout of their status or of another scheduler's queue. Sessions locked
 * by another server are skipped. Index: sessions_active.
 */
export function claimSessionsBy(rule: ClaimRule): (tx: Queryable, bounds: ClaimBounds) => Promise<ClaimedSession[]> {
  const sql = keepsPlan(claimSql(rule))
  return async (tx, { limit, fenceMarginMs }) => (await tx.query<ClaimedSession>(sql, [limit, fenceMarginMs])).rows
}

/**
 * The agent of the failure has failed the session before, or no other agent of its resource group takes work that has
 * not. Reads the table of agents once for each failure, of which there are few.
 */
const WITHOUT_OTHER_AGENT = `
SELECT s.id
FROM unnest($1::uuid[], $2::uuid[]) AS failed (session_id, agent_id) JOIN sessions s ON s.id = failed.session_id
WHERE failed.agent_id = ANY(s.avoid_agents) OR NOT EXISTS (
  SELECT FROM agents a
  WHERE a.resource_group = s.resource_group AND a.status = 'ALIVE' AND a.refuses IS NULL
    AND a.id <> ALL(s.avoid_agents) AND a.id IS DISTINCT FROM failed.agent_id)`

/** Returns the ids of those sessions that no agent is left for after these failures. */
export async function withoutOtherAgent(
  tx: Queryable,
  failures: readonly { id: string; error: Pick<FailureError, 'agentId'> }[],
): Promise<Set<string>> {
  if (failures.length === 0) return new Set()
  const values = [failures.map(({ id }) => id), failures.map(({ error }) => error.agentId ?? null)]
  return new Set((await tx.query<{ id: string }>(WITHOUT_OTHER_AGENT, values)).rows.map(({ id }) => id))
}
