import type { AgentSelector } from '../../domain/scheduling/place.ts'
import type { Judged } from '../../domain/session/judge.ts'
import type { ClusterMode } from '../../domain/session/statuses.ts'
import type { Queryable } from '../database.ts'

export interface PendingSession extends Omit<Judged, 'kernels'> {
  id: string
  clusterMode: ClusterMode
  resourceSlots: Record<string, string>
  skips: number
  avoidAgents: string[]
  allowAgents: string[]
  kernelIds: string[]
  /** Milliseconds until `startsAt`; null where that has come. */
  startsInMs: number | null
  /** Chains it waits for, and whether one of them has failed for good. */
  dependenciesOpen: number
  dependencyFailed: string | null
  priority: number
  /** To the microsecond. */
  createdAt: string
}

/** A place in the scheduling order. */
export type PendingPosition = Pick<PendingSession, 'priority' | 'createdAt' | 'id'>

/**
 * Pending sessions of one group, in scheduling order, held for the transaction. Those that rest
 * (`next_try_at`) are not looked at. Index: sessions_pending.
 *
 * A chain that is depended upon has succeeded when its newest session did; it has failed for good when that one
 * has ended and its retry decision leads nowhere.
 */
const SQL = `
SELECT s.id, s.priority, s.created_at::text AS "createdAt", s.status, s.tries, s.reschedules, g.tries_max AS "triesMax", g.reschedules_max AS "reschedulesMax",
  s.status_changed_at < now() - make_interval(secs => g.pending_timeout_ms / 1000.0) IS TRUE AS expired,
  s.pending_reason AS "pendingReason", s.cluster_mode AS "clusterMode", s.resource_slots AS "resourceSlots", s.skips,
  s.avoid_agents AS "avoidAgents", s.allow_agents AS "allowAgents",
  ARRAY(SELECT k.id FROM kernels k WHERE k.session_id = s.id ORDER BY k.role, k.index) AS "kernelIds",
  CASE WHEN s.starts_at > now() THEN ceil(extract(epoch FROM s.starts_at - now()) * 1000)::float8 END AS "startsInMs",
  coalesce(d.open, 0)::int AS "dependenciesOpen", d.failed AS "dependencyFailed"
FROM sessions s
JOIN resource_groups g ON g.name = s.resource_group
LEFT JOIN LATERAL (
  SELECT count(*) FILTER (WHERE tail.result <> 'SUCCESS' OR tail.status NOT IN ('TERMINATED')) AS open,
    (array_agg(tail.id::text) FILTER (WHERE tail.retry_decided AND tail.result <> 'SUCCESS'
      AND tail.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
      AND coalesce(r.phase, 'NONE') NOT IN ('SCHEDULED', 'HELD', 'DISPATCHED')))[1] AS failed
  FROM session_dependencies sd
  CROSS JOIN LATERAL (
    SELECT t.* FROM sessions t WHERE t.chain_id = sd.chain_id ORDER BY t.attempt DESC LIMIT 1) AS tail
  LEFT JOIN retry_decisions r ON r.session_id = tail.id
  WHERE sd.session_id = s.id
) AS d ON true
WHERE s.status = 'PENDING' AND s.resource_group = $1 AND (s.next_try_at IS NULL OR s.next_try_at <= now())
  AND ($3::uuid IS NULL OR s.priority < $4 OR (s.priority = $4 AND (s.created_at, s.id) > ($5::timestamptz, $3)))
ORDER BY s.priority DESC, s.created_at, s.id
LIMIT $2
FOR UPDATE OF s SKIP LOCKED`

export async function claimPending(
  tx: Queryable,
  resourceGroup: string,
  limit: number,
  after: PendingPosition | null,
): Promise<PendingSession[]> {
  const values = [resourceGroup, limit, after?.id ?? null, after?.priority ?? null, after?.createdAt ?? null]
  return (await tx.query<PendingSession>(SQL, values)).rows
}

const GROUPS_SQL = `
SELECT DISTINCT s.resource_group AS name, g.selector
FROM sessions s JOIN resource_groups g ON g.name = s.resource_group WHERE s.status = 'PENDING'`

/** Groups that have pending sessions. */
export async function groupsWithPending(db: Queryable): Promise<{ name: string; selector: AgentSelector }[]> {
  return (await db.query<{ name: string; selector: AgentSelector }>(GROUPS_SQL)).rows
}
