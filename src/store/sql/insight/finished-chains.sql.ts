import type { RecordedAttempt, RecordedChain } from '../../../domain/insight/backtest/replay-chain.ts'
import { BACKTEST_ATTEMPTS_MAX } from '../../../domain/limits.ts'
import type { RetryPhase } from '../../../domain/session/failure.ts'
import type { ChildSize } from '../../../domain/retry/verdict.ts'
import type { Queryable } from '../../database.ts'
import { HAD_GPU_MEMORY_BYTES, PEAK_MEMORY_BYTES } from '../session/session-columns.sql.ts'

/** Facts that are costly to read, and which few policies need. */
export interface WantedFacts {
  peakMemory: boolean
  gpuMemory: boolean
  ownPolicies: boolean
}

/**
 * The attempts of those of these chains that have ended. One statement reads a chain whole, so that each chain is
 * consistent in itself; an ended chain changes only if somebody resubmits it, and then it is left out. 400 chains of
 * three attempts take 10 to 50 ms. Indexes: chains_pkey, sessions_chain_id_attempt_key, retry_decisions_pkey.
 */
const SQL = `
SELECT c.chain_id AS "chainId", c.name AS "chainName", p.name AS "projectName", c.cancelled_by IS NOT NULL AS cancelled,
  s.id, s.status, s.result, s.session_type AS "sessionType", s.origin, s.epoch, s.attempt, s.created_at AS "createdAt",
  s.exit_code AS "exitCode", s.status_reason AS "statusReason", s.status_data AS "statusData",
  s.terminated_by AS "terminatedBy", s.started_at AS "startedAt", s.never_run_twice AS "neverRunTwice",
  coalesce(s.terminated_at, s.status_changed_at) AS "terminatedAt", s.epoch_started_at AS "epochStartedAt",
  s.resource_slots AS "resourceSlots", s.batch_timeout AS "batchTimeout", s.gpu_need AS "gpuNeed",
  s.resource_group AS "resourceGroup",
  round(coalesce((s.resource_slots ->> 'cpu')::numeric, 0) * s.cluster_size * 1000)::float8 AS "milliCpus",
  CASE WHEN $2 THEN ${PEAK_MEMORY_BYTES} END AS "peakMemoryBytes",
  CASE WHEN $3 THEN ${HAD_GPU_MEMORY_BYTES} END AS "hadGpuMemoryBytes",
  CASE WHEN $4 THEN s.retry_policy::text END AS "policyText",
  d.phase, d.decided_at AS "decidedAt", d.base_delay_ms AS "baseMs", d.delay_ms AS "delayMs",
  nullif(d.details -> 'growth', 'null') AS growth
FROM unnest($1::uuid[]) AS wanted(chain_id)
JOIN chains c ON c.chain_id = wanted.chain_id AND c.project_id = $5
  AND c.state IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND NOT c.replica
JOIN projects p ON p.id = c.project_id
CROSS JOIN LATERAL (
  SELECT * FROM sessions WHERE chain_id = c.chain_id AND project_id = c.project_id ORDER BY attempt LIMIT ${BACKTEST_ATTEMPTS_MAX}) AS s
LEFT JOIN retry_decisions d ON d.session_id = s.id
ORDER BY c.chain_id, s.attempt`

interface AttemptRow extends Omit<
  RecordedAttempt,
  'retryPolicy' | 'decision' | 'agentNames' | keyof typeof NOT_REPLAYED
> {
  chainId: string
  chainName: string
  projectName: string
  cancelled: boolean
  policyText: string | null
  phase: RetryPhase | null
  decidedAt: Date
  baseMs: number | null
  delayMs: number | null
  growth: ChildSize | null
}

/** Reads those of these chains of a project that have ended. Equal policies of one call are the same object. */
export async function readFinishedChains(
  db: Queryable,
  { projectId, chainIds }: { projectId: string; chainIds: readonly string[] },
  { peakMemory, gpuMemory, ownPolicies }: WantedFacts,
): Promise<RecordedChain[]> {
  const { rows } = await db.query<AttemptRow>(SQL, [chainIds, peakMemory, gpuMemory, ownPolicies, projectId])
  const policies = new Map<string | null, unknown>([[null, null]])
  const policyOf = (text: string | null) => {
    if (!policies.has(text)) policies.set(text, JSON.parse(text!))
    return policies.get(text)
  }
  return [...Map.groupBy(rows, ({ chainId }) => chainId)].map(([chainId, own]) => {
    const { chainName, projectName, cancelled } = own[0]!
    return { chainId, name: chainName, projectName, cancelled, attempts: own.map((row) => toAttempt(row, policyOf)) }
  })
}

function toAttempt(row: AttemptRow, policyOf: (text: string | null) => unknown): RecordedAttempt {
  const { policyText, phase, decidedAt, baseMs, delayMs, growth, ...attempt } = row
  return {
    ...attempt,
    ...NOT_REPLAYED,
    retryPolicy: policyOf(policyText),
    decision: phase === null ? null : { phase, decidedAt, baseMs, delayMs, growth },
  }
}

/** The replay counts itself, and takes places as recorded. */
const NOT_REPLAYED = {
  retryCount: 0,
  uncountedRetries: 0,
  maxRetries: 0,
  delayBeforeMs: null,
  failedAgents: [] as string[],
  avoidAgents: [] as string[],
}
