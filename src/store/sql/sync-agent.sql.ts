import type { KernelSpec, LogOffset, LogPiece, RegisterRequest } from '../../domain/agent/protocol.ts'
import type { BookedKernel, KernelChange, Reconciliation } from '../../domain/agent/reconcile.ts'
import type { Queryable } from '../database.ts'

/** Notes that the agent was heard, at most once a second; a lost or suspected one is back. */
const HEARD_SQL = `
WITH known AS (
  SELECT id, status, instance_id = $2 AS current FROM agents WHERE id = $1
), heard AS (
  UPDATE agents a SET last_heard_at = now(),
    status = CASE WHEN a.status IN ('SUSPECT', 'LOST') THEN 'ALIVE' ELSE a.status END
  FROM known WHERE a.id = known.id AND known.current
    AND (a.last_heard_at < now() - interval '1 second' OR a.status IN ('SUSPECT', 'LOST'))
  RETURNING known.id, known.status
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'AGENT', id, 'agent-sync', status::text, 'ALIVE', 'SUCCESS', 'heard again' FROM heard
  WHERE status IN ('SUSPECT', 'LOST')
)
SELECT current, status IN ('SUSPECT', 'LOST') AS "wasAway" FROM known`

/** Undefined where no such agent is known. */
export async function noteHeard(
  db: Queryable,
  agentId: string,
  instanceId: string,
): Promise<{ current: boolean; wasAway: boolean } | undefined> {
  return (await db.query<{ current: boolean; wasAway: boolean }>(HEARD_SQL, [agentId, instanceId])).rows[0]
}

/** Everything that is not settled with this agent, and what it names. Indexes: kernels_on_agent, primary key. */
const BOOKED_SQL = `
SELECT id, agent_id AS "agentId", assignment, status, confirmed_gone AS "confirmedGone", error IS NOT NULL AS failed,
  started_at::text AS "startedAt"
FROM kernels WHERE agent_id = $1 AND (slots_held OR NOT confirmed_gone)
UNION
SELECT id, agent_id, assignment, status, confirmed_gone, error IS NOT NULL, started_at::text
FROM kernels WHERE id = ANY($2::uuid[])`

export async function readBooked(db: Queryable, agentId: string, observedIds: string[]): Promise<BookedKernel[]> {
  return (await db.query<BookedKernel>(BOOKED_SQL, [agentId, observedIds])).rows
}

/** Each change takes effect only on the assignment and from the status that it was made for. Locks: kernels in id order. */
const CHANGES_SQL = `
WITH changes AS (
  SELECT * FROM json_to_recordset($1::json) AS c("id" uuid, "assignment" int, "from" kernel_status, "to" kernel_status,
    "started" bool, "ended" bool, "gone" bool, "exitCode" int, "oomKilled" bool, "error" jsonb)
), locked AS (
  SELECT k.id FROM kernels k JOIN changes c USING (id) ORDER BY k.id FOR NO KEY UPDATE OF k
), changed AS (
  UPDATE kernels k SET
    status = c."to",
    status_changed_at = CASE WHEN k.status = c."to" THEN k.status_changed_at ELSE now() END,
    started_at = CASE WHEN c."started" THEN coalesce(k.started_at, now()) ELSE k.started_at END,
    terminated_at = CASE WHEN c."ended" THEN now() ELSE k.terminated_at END,
    slots_held = k.slots_held AND NOT c."ended",
    confirmed_gone = k.confirmed_gone OR c."gone",
    exit_code = coalesce(c."exitCode", k.exit_code),
    oom_killed = k.oom_killed OR c."oomKilled",
    reason = coalesce(c."error" ->> 'name', k.reason),
    error = CASE WHEN c."error" IS NULL THEN k.error ELSE c."error" || jsonb_build_object('agentId', k.agent_id) END
  FROM changes c JOIN locked USING (id)
  WHERE k.id = c.id AND k.assignment = c."assignment" AND k.status = c."from"
  RETURNING k.id
), stale AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, result, message)
  SELECT 'KERNEL', "kernelId", 'agent-sync', 'SKIPPED', 'stale report: ' || "status" || ' after its end was booked'
  FROM json_to_recordset($2::json) AS s("kernelId" uuid, "status" text)
  WHERE NOT EXISTS (SELECT FROM scheduling_history h WHERE h.entity_id = "kernelId" AND h.phase = 'agent-sync')
)
SELECT id FROM changed`

export async function applyKernelChanges(
  db: Queryable,
  changes: readonly KernelChange[],
  stale: Reconciliation['stale'],
): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(CHANGES_SQL, [JSON.stringify(changes), JSON.stringify(stale)])
  return new Set(rows.map((row) => row.id))
}

export interface OrderSource extends Omit<KernelSpec, 'environ' | 'kernelId'> {
  kernelId: string
  environ: { name: string; value: string }[]
  retryCount: number
  maxRetries: number
  parentSessionId: string | null
  retryCause: string | null
  stopGraceMs: number
}

const SPECS_SQL = `
SELECT k.id AS "kernelId", s.id AS "sessionId", s.chain_id AS "chainId", s.attempt, k.role, k.index, s.image, s.command,
  s.environ, k.resource_slots AS "resourceSlots", s.retry_count AS "retryCount", s.max_retries AS "maxRetries",
  s.parent_session_id AS "parentSessionId", s.retry_cause AS "retryCause",
  CASE WHEN s.terminate_force THEN 0 ELSE g.stop_grace_ms END AS "stopGraceMs"
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN resource_groups g ON g.name = s.resource_group
WHERE k.id = ANY($1::uuid[])`

export async function readOrderSources(db: Queryable, kernelIds: string[]): Promise<Map<string, OrderSource>> {
  if (kernelIds.length === 0) return new Map()
  const { rows } = await db.query<OrderSource>(SPECS_SQL, [kernelIds])
  return new Map(rows.map((row) => [row.kernelId, row]))
}

/** A piece that is there already (sent again after a lost answer) changes nothing. */
const LOGS_SQL = `
INSERT INTO kernel_logs (kernel_id, stream, "offset", bytes, text, at)
SELECT "kernelId", "stream", "offset", "bytes", "text", "at"
FROM json_to_recordset($1::json) AS l("kernelId" uuid, "stream" log_stream, "offset" bigint, "bytes" int, "text" text,
  "at" timestamptz)
WHERE EXISTS (SELECT FROM kernels k WHERE k.id = l."kernelId" AND k.agent_id = $2)
ON CONFLICT DO NOTHING`

export async function storeLogs(db: Queryable, agentId: string, pieces: readonly LogPiece[]): Promise<void> {
  if (pieces.length > 0) await db.query(LOGS_SQL, [JSON.stringify(pieces), agentId])
}

/**
 * An agent comes, or comes back: its row, its slots, and where its log shipping goes on. A slot keeps room for
 * what is in use of it even where the agent now declares less.
 */
const REGISTER_SQL = `
WITH registered AS (
  INSERT INTO agents (id, name, resource_group, address, version, status, labels, instance_id)
  VALUES ($1, $2, $3, $4, $5, 'ALIVE', $6::jsonb, $7)
  ON CONFLICT (id) DO UPDATE SET name = $2, resource_group = $3, address = $4, version = $5, labels = $6::jsonb,
    instance_id = $7, last_heard_at = now(), registered_at = now(),
    status = CASE WHEN agents.status = 'DRAINING' THEN agents.status ELSE 'ALIVE' END
  RETURNING id
), declared AS (
  INSERT INTO agent_slots (agent_id, slot, declared, capacity)
  SELECT registered.id, slot.key, slot.value::numeric, slot.value::numeric
  FROM registered, jsonb_each_text($8::jsonb) AS slot
  ON CONFLICT (agent_id, slot) DO UPDATE SET declared = excluded.declared,
    capacity = greatest(excluded.declared, agent_slots.used)
), withdrawn AS (
  UPDATE agent_slots SET declared = 0, capacity = used WHERE agent_id = $1 AND NOT $8::jsonb ? slot
)
SELECT l.kernel_id AS "kernelId", l.stream, max(l."offset" + l.bytes) AS offset
FROM kernels k JOIN kernel_logs l ON l.kernel_id = k.id
WHERE k.agent_id = $1 AND (k.slots_held OR NOT k.confirmed_gone)
GROUP BY 1, 2`

export async function registerAgentRow(db: Queryable, agent: RegisterRequest): Promise<LogOffset[]> {
  const { agentId, name, resourceGroup, address, version, labels, instanceId, slots } = agent
  const values = [agentId, name, resourceGroup, address, version, JSON.stringify(labels), instanceId, JSON.stringify(slots)]
  return (await db.query<LogOffset>(REGISTER_SQL, values)).rows
}
