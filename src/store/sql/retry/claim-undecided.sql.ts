import type { GpuChange } from '../../../domain/gpu.ts'
import type { DecidedSession } from '../../../domain/retry/decide.ts'
import type { RetryPhase } from '../../../domain/session/failure.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { HAD_GPU_MEMORY_BYTES, PEAK_MEMORY_BYTES } from '../session/session-columns.sql.ts'

export interface UndecidedSession extends DecidedSession {
  projectId: string
  chainId: string
  retryPolicy: unknown
  traceParent: string | null
  /** The group that its chain is a member of. */
  groupId: string | null
  /** Whether other chains depend on its chain. */
  hasDependents: boolean
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

/** Conditions under which a policy needs facts that are costly to read. */
interface Wanted {
  delayBefore: string
  gpuMemory: string
  peakMemory: string
  agentNames: string
}

/** With EXISTS, PostgreSQL may read and hash all dependencies first. */
const HAS_DEPENDENTS = `coalesce((SELECT true FROM session_dependencies n WHERE n.chain_id = s.chain_id LIMIT 1), false)`

const columns = (
  wanted: Wanted,
) => `s.id, s.project_id AS "projectId", s.chain_id AS "chainId", s.status, s.result, s.session_type AS "sessionType",
  s.origin, s.retry_count AS "retryCount", s.uncounted_retries AS "uncountedRetries", s.max_retries AS "maxRetries",
  s.attempt, s.exit_code AS "exitCode", s.status_reason AS "statusReason", s.status_data AS "statusData",
  s.terminated_by AS "terminatedBy", s.started_at AS "startedAt", s.never_run_twice AS "neverRunTwice", s.terminated_at AS "terminatedAt",
  s.epoch_started_at AS "epochStartedAt", s.resource_slots AS "resourceSlots", s.batch_timeout AS "batchTimeout",
  s.gpu_need AS "gpuNeed", CASE WHEN ${wanted.gpuMemory} THEN ${HAD_GPU_MEMORY_BYTES} END AS "hadGpuMemoryBytes",
  CASE WHEN ${wanted.peakMemory} THEN ${PEAK_MEMORY_BYTES} END AS "peakMemoryBytes",
  s.resource_group AS "resourceGroup", s.avoid_agents AS "avoidAgents", s.retry_policy AS "retryPolicy", s.trace_parent AS "traceParent", s.group_id AS "groupId", reprise_now() AS now,
  ${HAS_DEPENDENTS} AS "hasDependents",
  ${delayBeforeMs(wanted.delayBefore)} AS "delayBeforeMs",
  CASE WHEN s.result IS DISTINCT FROM 'SUCCESS' THEN (SELECT c.cancelled_by FROM chains c WHERE c.chain_id = s.chain_id) END
    AS "cancelledBy",
  ARRAY(SELECT DISTINCT k.agent_id FROM kernels k WHERE k.session_id = s.id AND k.agent_id IS NOT NULL
    AND NOT k.stopped AND (k.status = 'ERROR' OR k.exit_code <> 0)) AS "failedAgents",
  CASE WHEN ${wanted.agentNames} THEN (
    SELECT json_object_agg(a.id, a.name) FROM kernels k JOIN agents a ON a.id = k.agent_id WHERE k.session_id = s.id)
    END AS "agentNames"`

/** What the stored policy needs. The delay before matters only to DECORRELATED. */
const COLUMNS = columns({
  delayBefore: `s.retry_policy ->> 'jitter' = 'DECORRELATED'`,
  gpuMemory: `jsonb_path_exists(s.retry_policy, '$.rules[*].scaleGpuMemory')`,
  peakMemory: `jsonb_path_exists(s.retry_policy, '$.rules[*].scaleResources[*] ? (@.from == "PEAK")')`,
  agentNames: `jsonb_path_exists(s.retry_policy, '$.rules[*] ? (@.avoid == "AGENT" || @.exclude == "AGENT")')`,
})

/** What any policy may need, for a decision by another than the stored one. */
const ALL_COLUMNS = columns({ delayBefore: 'true', gpuMemory: 'true', peakMemory: 'true', agentNames: 'true' })

/** Claims finished batch sessions without a decision and locks them for the transaction. Index: sessions_undecided. */
const SQL = keepsPlan(`
SELECT ${COLUMNS}
FROM sessions s
WHERE NOT s.retry_decided AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
ORDER BY s.terminated_at
LIMIT $1
FOR UPDATE OF s SKIP LOCKED`)

export async function claimUndecided(tx: Queryable, limit: number): Promise<UndecidedSession[]> {
  return (await tx.query<UndecidedSession>(SQL, [limit])).rows
}

const READ_ONE_SQL = `
SELECT ${ALL_COLUMNS}, s.retry_policy_sources AS "retryPolicySources",
  coalesce((SELECT d.details -> 'givenSlots' FROM retry_decisions d WHERE d.session_id = s.id), '{}') AS "givenSlots",
  (SELECT d.details -> 'givenGpus' FROM retry_decisions d WHERE d.session_id = s.id) AS "givenGpus"
FROM sessions s WHERE s.id = $1`

/** The resources that people have changed in the present decision. */
export interface GivenSize {
  givenSlots: Record<string, string>
  /** Null if they have changed nothing. */
  givenGpus: GpuChange | null
}

interface SessionToDecide extends UndecidedSession, GivenSize {
  retryPolicySources: Record<string, string>
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

/**
 * For the ids of an array, PostgreSQL would expect ten sessions where it does not know the values, find that costly, and
 * plan anew each time. Here it expects the same of any values, and of a small table as of a large one.
 */
const ENDED_SQL = keepsPlan(`SELECT ${COLUMNS} FROM json_array_elements_text($1::json) AS ended(id)
CROSS JOIN LATERAL (SELECT * FROM sessions WHERE id = ended.id::uuid OFFSET 0) AS s`)

/** Reads batch sessions that the transaction has ended, and so has no decision for yet. */
export async function readEnded(tx: Queryable, sessionIds: readonly string[]): Promise<UndecidedSession[]> {
  if (sessionIds.length === 0) return []
  return (await tx.query<UndecidedSession>(ENDED_SQL, [JSON.stringify(sessionIds)])).rows
}

export interface TriedSource extends UndecidedSession {
  name: string
  projectName: string
  /** The recorded decision; null if there is none yet. */
  recordedPhase: RetryPhase | null
}

const TRIED_SQL = `
SELECT ${ALL_COLUMNS}, s.name, p.name AS "projectName", d.phase AS "recordedPhase"
FROM sessions s JOIN projects p ON p.id = s.project_id LEFT JOIN retry_decisions d ON d.session_id = s.id
WHERE s.id = ANY($1::uuid[]) AND s.session_type = 'BATCH' AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
  AND ($2::uuid IS NULL OR s.project_id = $2)
ORDER BY s.terminated_at DESC, s.id DESC`

/** Reads those of these sessions that are finished batch sessions, newest end first, to try another policy on them. */
export async function readFinished(
  db: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
): Promise<TriedSource[]> {
  return (await db.query<TriedSource>(TRIED_SQL, [sessionIds, visibleProjectId])).rows
}
