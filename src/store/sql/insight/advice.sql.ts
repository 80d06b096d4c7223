import type { Advice, AdvicePatch, AdviceEvidence, AdviceState } from '../../../domain/insight/advice/advice.ts'
import type { AdvisedAttempt } from '../../../domain/insight/advice/attempts.ts'
import { wasteOf } from '../../../domain/insight/advice/find-advice.ts'
import type { Queryable } from '../../database.ts'

const CLAIM_SQL = `
INSERT INTO settings AS s (key, value, updated_at) VALUES ('advice', '{}', reprise_now())
ON CONFLICT (key) DO UPDATE SET updated_at = EXCLUDED.updated_at
WHERE s.updated_at <= reprise_now() - make_interval(secs => $1::float8 / 1000) RETURNING key`

/** Whether it is time to look for advice. Only one server gets true; if it crashes, the next round comes in time. */
export async function claimAdviceRound(db: Queryable, everyMs: number): Promise<boolean> {
  return (await db.query(CLAIM_SQL, [everyMs])).rows.length > 0
}

const PROJECTS_SQL = `
SELECT p.id FROM projects p WHERE EXISTS (SELECT FROM attempt_figures a WHERE a.project_id = p.id
  AND a.ended_at >= reprise_now() - make_interval(secs => $1::float8 / 1000)) ORDER BY p.id`

/** The projects with attempts that ended within the span. Index: attempt_figures(project_id, ended_at). */
export async function readAdvisedProjects(db: Queryable, spanMs: number): Promise<string[]> {
  return (await db.query<{ id: string }>(PROJECTS_SQL, [spanMs])).rows.map(({ id }) => id)
}

/** Indexes: attempt_figures(project_id, ended_at), sessions_pkey, kernels(session_id, …). */
const ATTEMPTS_SQL = `
SELECT a.session_id AS "sessionId", a.chain_id AS "chainId", a.name, a.attempt, a.retry,
  extract(epoch FROM a.started_at)::float8 * 1000 AS "startedMs", extract(epoch FROM a.ended_at)::float8 * 1000 AS "endedMs",
  a.ended_at::text AS "endedAt", a.outcome, a.cause, a.exit_code AS "exitCode", s.timed_out AS "timedOut",
  a.retry_outcome AS "retryOutcome", a.lost, a.agent_id AS "agentId", a.resource_group AS "resourceGroup",
  CASE WHEN a.gpus > 0 THEN ARRAY(SELECT g ->> 'uuid' FROM kernels k, jsonb_array_elements(k.gpus) AS g
    WHERE k.session_id = a.session_id AND k.agent_id = a.agent_id AND jsonb_typeof(k.gpus) = 'array') ELSE '{}' END AS gpus,
  a.failure_group_id AS "failureGroupId", a.cpus, s.cluster_size AS kernels, a.memory_bytes / s.cluster_size AS "memoryBytes",
  a.peak_memory_bytes::float8 AS "peakMemoryBytes", s.batch_timeout AS "batchTimeoutSeconds", s.max_retries AS "maxRetries"
FROM attempt_figures a JOIN sessions s ON s.id = a.session_id
WHERE a.project_id = $1 AND a.batch AND a.ended_at >= reprise_now() - make_interval(secs => $2::float8 / 1000)
  AND ($3::timestamptz IS NULL OR (a.ended_at, a.session_id) < ($3::timestamptz, $4::uuid))
ORDER BY a.ended_at DESC, a.session_id DESC LIMIT $5`

export interface AttemptsBefore {
  endedAt: string
  sessionId: string
}

/** Reads attempts of a project, newest first, and where the next page begins. */
export async function readAdvisedAttempts(
  db: Queryable,
  projectId: string,
  { spanMs, before, limit }: { spanMs: number; before: AttemptsBefore | null; limit: number },
): Promise<{ attempts: AdvisedAttempt[]; next: AttemptsBefore | null }> {
  const values = [projectId, spanMs, before?.endedAt ?? null, before?.sessionId ?? null, limit]
  const { rows } = await db.query<AdvisedAttempt & AttemptsBefore>(ATTEMPTS_SQL, values)
  const last = rows.at(-1)
  const next = rows.length < limit || !last ? null : { endedAt: last.endedAt, sessionId: last.sessionId }
  return { attempts: rows.map(({ endedAt: _endedAt, sessionId: _sessionId, ...attempt }) => attempt), next }
}

/** Dismissed and applied advice opens again when its evidence has doubled. */
const STORE_SQL = `
WITH found AS (
  SELECT * FROM jsonb_to_recordset($2::jsonb) AS f(id uuid, kind advice_kind, subject text, evidence jsonb, patch jsonb,
    examples uuid[], count int, slot_seconds float8, gib_hours float8, waste float8)
), stored AS (
  INSERT INTO retry_advice AS r (id, project_id, kind, subject, evidence, patch, examples, count, slot_seconds, gib_hours, waste)
  SELECT f.id, $1::uuid, f.kind, f.subject, f.evidence, f.patch, f.examples, f.count, f.slot_seconds, f.gib_hours, f.waste FROM found f
  ON CONFLICT (project_id, kind, subject) DO UPDATE SET evidence = EXCLUDED.evidence, patch = EXCLUDED.patch,
    examples = EXCLUDED.examples, count = EXCLUDED.count, slot_seconds = EXCLUDED.slot_seconds, gib_hours = EXCLUDED.gib_hours,
    waste = EXCLUDED.waste, updated_at = reprise_now(),
    found_at = CASE WHEN EXCLUDED.count >= 2 * r.state_count THEN reprise_now() ELSE r.found_at END,
    state = CASE WHEN EXCLUDED.count >= 2 * r.state_count THEN 'OPEN' ELSE r.state END,
    state_by = CASE WHEN EXCLUDED.count >= 2 * r.state_count THEN NULL ELSE r.state_by END,
    state_at = CASE WHEN EXCLUDED.count >= 2 * r.state_count THEN NULL ELSE r.state_at END,
    state_count = CASE WHEN EXCLUDED.count >= 2 * r.state_count THEN NULL ELSE r.state_count END
)
DELETE FROM retry_advice r WHERE r.project_id IS NOT DISTINCT FROM $1
  AND (r.state = 'OPEN' OR r.updated_at < reprise_now() - make_interval(secs => $3::float8 / 1000))
  AND NOT EXISTS (SELECT FROM found f WHERE f.kind = r.kind AND f.subject = r.subject)`

/**
 * Replaces the open advice of a project, or of all machines for null.
 * @param advice each with a new id, which it gets if it is new
 */
export async function storeAdvice(
  db: Queryable,
  projectId: string | null,
  advice: readonly (Advice & { id: string })[],
  keptMs: number,
): Promise<void> {
  const rows = advice.map(({ evidence: { kind, ...evidence }, slotSeconds, gibHours, ...rest }) => ({
    ...rest,
    kind,
    evidence,
    slot_seconds: slotSeconds,
    gib_hours: gibHours,
    waste: wasteOf({
      slotSeconds,
      gibHours,
    }),
  }))
  await db.query(STORE_SQL, [projectId, JSON.stringify(rows), keptMs])
}

const FORGET_SQL = `DELETE FROM retry_advice WHERE project_id IS NOT NULL AND state = 'OPEN' AND NOT project_id = ANY($1::uuid[])`

/** Deletes the open advice of projects that had no attempts. */
export async function forgetAdvice(db: Queryable, otherThan: readonly string[]): Promise<void> {
  await db.query(FORGET_SQL, [otherThan])
}

export interface AdviceRow extends Omit<Advice, 'evidence'> {
  id: string
  projectId: string | null
  project: string | null
  evidence: AdviceEvidence
  patch: AdvicePatch
  waste: number
  foundAt: Date
  state: AdviceState
  stateBy: string | null
  stateAt: Date | null
  /** The names of what the evidence refers to: an agent, or a group of failures. */
  named: string | null
}

const ROWS = `
SELECT r.id, r.project_id AS "projectId", p.name AS project, r.subject, r.evidence || jsonb_build_object('kind', r.kind) AS evidence,
  r.patch, r.examples, r.count, r.slot_seconds AS "slotSeconds", r.gib_hours AS "gibHours", r.waste, r.found_at AS "foundAt",
  r.state, r.state_by AS "stateBy", r.state_at AS "stateAt", coalesce(a.name, g.name, g.title) AS named
FROM retry_advice r LEFT JOIN projects p ON p.id = r.project_id
LEFT JOIN agents a ON a.id = (r.evidence ->> 'agentId')::uuid
LEFT JOIN failure_groups g ON g.id = (r.evidence ->> 'failureGroupId')::uuid
WHERE`

/** Which advice to read: that of one project, of a domain, or of all with that about machines. */
export interface AdviceScope {
  /** The only project that the viewer sees. */
  visibleProjectId: string | null
  project: string | null
  domain: string | null
  states: readonly AdviceState[]
  adviceId: string | null
  limit: number
}

const LIST_SQL = `${ROWS} ($1::uuid IS NULL OR r.project_id = $1) AND ($2::text IS NULL OR p.name = $2)
  AND ($3::text IS NULL OR p.domain_id = (SELECT d.id FROM domains d WHERE d.name = $3)) AND r.state = ANY($4::advice_state[])
  AND ($5::uuid IS NULL OR r.id = $5)
ORDER BY r.waste DESC, r.id LIMIT $6`

export async function listAdvice(db: Queryable, scope: AdviceScope): Promise<AdviceRow[]> {
  const { visibleProjectId, project, domain, states, adviceId, limit } = scope
  return (await db.query<AdviceRow>(LIST_SQL, [visibleProjectId, project, domain, states, adviceId, limit])).rows
}

const MACHINES_SQL = `${ROWS} r.project_id IS NULL AND r.state = 'OPEN' ORDER BY r.waste DESC, r.id LIMIT $1`

export async function listMachineAdvice(db: Queryable, limit: number): Promise<AdviceRow[]> {
  return (await db.query<AdviceRow>(MACHINES_SQL, [limit])).rows
}

const SPARE_SQL = `
SELECT count(*) > 1 AND (count(*) FILTER (WHERE drained_at IS NOT NULL) + 1) * 10 <= greatest(count(*), 10) AS spare
FROM agents WHERE status IN ('ALIVE', 'SUSPECT', 'DRAINING')`

/** Whether one more agent may be drained, so that at most a tenth of all, or one, are. */
export async function maySpareAgent(db: Queryable): Promise<boolean> {
  return (await db.query<{ spare: boolean }>(SPARE_SQL)).rows[0]!.spare
}

const LOCK_SQL = `${ROWS} r.id = $1 AND ($2::uuid IS NULL OR r.project_id = $2) FOR NO KEY UPDATE OF r`

export async function lockAdvice(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<AdviceRow | undefined> {
  return (await tx.query<AdviceRow>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

const STATE_SQL = `
UPDATE retry_advice SET state = $2::advice_state, state_by = CASE WHEN $2 <> 'OPEN' THEN $3 END,
  state_at = CASE WHEN $2 <> 'OPEN' THEN reprise_now() END, state_count = CASE WHEN $2 <> 'OPEN' THEN count END
WHERE id = $1`

export async function setAdviceState(tx: Queryable, id: string, state: AdviceState, by: string): Promise<void> {
  await tx.query(STATE_SQL, [id, state, by])
}
