import type { ClusterMode } from '../../domain/session/statuses.ts'
import type { FailureCause, HoldReason, RetryPhase } from '../../domain/retry/causes.ts'
import type { Queryable } from '../database.ts'

/** A retry that is due, with all of the parent that a child inherits. */
export interface DueRetry {
  sessionId: string
  phase: RetryPhase
  holdReason: HoldReason | null
  cause: FailureCause
  counted: boolean
  delayMs: number
  dueAt: Date
  /** How long ago that was, by the database's clock. */
  lateMs: number
  details: unknown
  /** Milliseconds until every kernel of the parent is certain to be gone; 0 where they are. */
  parentAliveMs: number
  projectId: string
  userId: string | null
  resourceGroup: string
  rootCreationId: string
  name: string
  image: string | null
  command: string[]
  environ: { name: string; value: string }[]
  resourceSlots: Record<string, string>
  clusterMode: ClusterMode
  clusterSize: number
  batchTimeout: number | null
  priority: number
  labels: Record<string, string>
  chainId: string
  attempt: number
  epoch: number
  epochStartedAt: Date
  retryCount: number
  uncountedRetries: number
  maxRetries: number
  retryPolicy: { maxRetries: number; emitRetryEvents?: boolean }
  retryPolicySources: Record<string, string>
  avoidAgents: string[]
  allowAgents: string[]
  avoidGroups: string[]
  dependsOnChains: string[]
}

/** Projects that have a retry in the queue: one probe each. */
const QUEUED_PROJECTS = `queued AS (
  (SELECT d.project_id FROM retry_decisions d WHERE d.phase IN ('SCHEDULED', 'HELD') ORDER BY d.project_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.project_id FROM retry_decisions d WHERE d.phase IN ('SCHEDULED', 'HELD')
      AND d.project_id > queued.project_id ORDER BY d.project_id LIMIT 1)
  FROM queued WHERE queued.project_id IS NOT NULL
)`

/**
 * Due retries, held for the transaction: of every project its first, then of every project its second, and so on, so
 * that nobody waits behind the many of somebody else. Index: retry_decisions_queue.
 * A kernel whose end its agent has not confirmed is certain to be gone when the agent, by its own rule, has
 * stopped it: `fence_after_ms` and a margin after it was last heard.
 */
const SQL = `
WITH RECURSIVE ${QUEUED_PROJECTS}, due AS MATERIALIZED (
  SELECT head.* FROM queued, LATERAL (
    SELECT d.session_id, d.ready_at, row_number() OVER (ORDER BY d.ready_at) AS turn FROM retry_decisions d
    WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = queued.project_id AND d.ready_at <= now()
    ORDER BY d.ready_at LIMIT $3) AS head
  ORDER BY head.turn, head.ready_at LIMIT $3
), taken AS MATERIALIZED (
  SELECT due.turn, due.ready_at AS place, d.* FROM due JOIN retry_decisions d USING (session_id)
  WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.ready_at <= now()
  ORDER BY due.turn, due.ready_at
  LIMIT $1
  FOR UPDATE OF d SKIP LOCKED
)
SELECT d.session_id AS "sessionId", d.phase, d.hold_reason AS "holdReason", d.cause, d.counted, d.delay_ms AS "delayMs",
  d.due_at AS "dueAt", (extract(epoch FROM now() - d.due_at) * 1000)::float8 AS "lateMs", d.details,
  coalesce((SELECT greatest(0, max(ceil(extract(epoch FROM a.last_heard_at - now()) * 1000) + g.fence_after_ms + $2))
    FROM kernels k JOIN agents a ON a.id = k.agent_id JOIN resource_groups g ON g.name = a.resource_group
    WHERE k.session_id = s.id AND NOT k.confirmed_gone), 0)::float8 AS "parentAliveMs",
  s.project_id AS "projectId", s.user_id AS "userId", s.resource_group AS "resourceGroup",
  root.creation_id AS "rootCreationId", s.name, s.image, s.command, s.environ, s.resource_slots AS "resourceSlots",
  s.cluster_mode AS "clusterMode", s.cluster_size AS "clusterSize", s.batch_timeout AS "batchTimeout", s.priority,
  s.labels, s.chain_id AS "chainId", s.attempt, s.epoch, s.epoch_started_at AS "epochStartedAt",
  s.retry_count AS "retryCount", s.uncounted_retries AS "uncountedRetries", s.max_retries AS "maxRetries",
  s.retry_policy AS "retryPolicy", s.retry_policy_sources AS "retryPolicySources", s.avoid_agents AS "avoidAgents",
  s.allow_agents AS "allowAgents", s.avoid_groups AS "avoidGroups",
  ARRAY(SELECT sd.chain_id FROM session_dependencies sd WHERE sd.session_id = s.id) AS "dependsOnChains"
FROM taken d
JOIN sessions s ON s.id = d.session_id
JOIN sessions root ON root.id = s.chain_id
ORDER BY d.turn, d.place`

export async function claimDueRetries(
  tx: Queryable,
  options: { limit: number; window: number; fenceMarginMs: number },
): Promise<DueRetry[]> {
  const { limit, window, fenceMarginMs } = options
  return (await tx.query<DueRetry>(SQL, [limit, fenceMarginMs, window])).rows
}

const NEXT_SQL = `
WITH RECURSIVE ${QUEUED_PROJECTS}
SELECT extract(epoch FROM min(first.ready_at) - now()) * 1000 AS "inMs" FROM queued, LATERAL (
  SELECT d.ready_at FROM retry_decisions d WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = queued.project_id
  ORDER BY d.ready_at LIMIT 1) AS first`

/** Milliseconds until the next retry is due, not below 0; null where none waits. */
export async function nextRetryInMs(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ inMs: string | null }>(NEXT_SQL)
  const inMs = rows[0]!.inMs
  return inMs === null ? null : Math.max(0, Number(inMs))
}
