import type { DecidedSession } from '../../../domain/retry/decide.ts'
import type { Queryable } from '../../database.ts'

export interface UndecidedSession extends DecidedSession {
  projectId: string
  chainId: string
  retryPolicy: unknown
  traceParent: string | null
  /** Who cancelled the chain; null if nobody did, or if the session succeeded. */
  cancelledBy: string | null
  /** The database's time, the same for the whole batch. */
  now: Date
}

/** Reads the delay before this attempt from the parent's decision, which created the attempt unless a person did. */
function delayBeforeMs(wanted: string): string {
  return `CASE WHEN s.origin = 'AUTO_RETRY' AND ${wanted} THEN
    (SELECT before.delay_ms FROM retry_decisions before WHERE before.session_id = s.parent_session_id) END`
}

const columns = (
  delayWanted: string,
) => `s.id, s.project_id AS "projectId", s.chain_id AS "chainId", s.status, s.result, s.session_type AS "sessionType",
  s.origin, s.retry_count AS "retryCount", s.uncounted_retries AS "uncountedRetries", s.max_retries AS "maxRetries",
  s.attempt, s.exit_code AS "exitCode", s.status_reason AS "statusReason", s.status_data AS "statusData",
  s.terminated_by AS "terminatedBy", s.started_at AS "startedAt", s.terminated_at AS "terminatedAt",
  s.epoch_started_at AS "epochStartedAt", s.resource_slots AS "resourceSlots", s.batch_timeout AS "batchTimeout",
  s.resource_group AS "resourceGroup", s.avoid_agents AS "avoidAgents", s.retry_policy AS "retryPolicy", s.trace_parent AS "traceParent", reprise_now() AS now,
  ${delayBeforeMs(delayWanted)} AS "delayBeforeMs",
  CASE WHEN s.result IS DISTINCT FROM 'SUCCESS' THEN (SELECT c.cancelled_by FROM chains c WHERE c.chain_id = s.chain_id) END
    AS "cancelledBy",
  ARRAY(SELECT DISTINCT k.agent_id FROM kernels k WHERE k.session_id = s.id AND k.agent_id IS NOT NULL
    AND NOT k.stopped AND (k.status = 'ERROR' OR k.exit_code <> 0)) AS "failedAgents",
  CASE WHEN jsonb_path_exists(s.retry_policy, '$.rules[*] ? (@.avoid == "AGENT" || @.exclude == "AGENT")') THEN (
    SELECT json_object_agg(a.id, a.name) FROM kernels k JOIN agents a ON a.id = k.agent_id WHERE k.session_id = s.id)
    END AS "agentNames"`

/** Reads the previous delay only for DECORRELATED, the only jitter that depends on it. */
const COLUMNS = columns(`s.retry_policy ->> 'jitter' = 'DECORRELATED'`)

/** Claims finished batch sessions without a decision and locks them for the transaction. Index: sessions_undecided. */
const SQL = `
SELECT ${COLUMNS}
FROM sessions s
WHERE NOT s.retry_decided AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
ORDER BY s.terminated_at
LIMIT $1
FOR UPDATE OF s SKIP LOCKED`

export async function claimUndecided(tx: Queryable, limit: number): Promise<UndecidedSession[]> {
  return (await tx.query<UndecidedSession>(SQL, [limit])).rows
}

const READ_ONE_SQL = `
SELECT ${columns('true')}, s.retry_policy_sources AS "retryPolicySources",
  coalesce((SELECT d.details -> 'givenSlots' FROM retry_decisions d WHERE d.session_id = s.id), '{}') AS "givenSlots"
FROM sessions s WHERE s.id = $1`

interface SessionToDecide extends UndecidedSession {
  retryPolicySources: Record<string, string>
  /** Slots that people have changed in its present decision. */
  givenSlots: Record<string, string>
}

/**
 * Reads a session that may already have a decision, with the facts for a new one. The transaction has already locked
 * it.
 */
export async function readForDecision(tx: Queryable, sessionId: string): Promise<SessionToDecide> {
  const { rows } = await tx.query<SessionToDecide>(READ_ONE_SQL, [sessionId])
  return rows[0]!
}

const READ_SQL = `SELECT ${COLUMNS} FROM sessions s WHERE s.id = ANY($1::uuid[]) AND NOT s.retry_decided`

/** Reads those of these sessions that have no decision. The transaction has already locked them. */
export async function readUndecided(tx: Queryable, sessionIds: readonly string[]): Promise<UndecidedSession[]> {
  if (sessionIds.length === 0) return []
  return (await tx.query<UndecidedSession>(READ_SQL, [sessionIds])).rows
}
