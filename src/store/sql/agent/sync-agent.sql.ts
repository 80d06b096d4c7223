import type { ChannelOrder, GpuTake } from '../../../domain/agent/protocol.ts'
import type { RecordedKernel, Reconciliation } from '../../../domain/agent/reconcile.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { CHECKPOINT_CHANGES, MISSING_CHECKPOINTS } from './chain-directories.sql.ts'

/**
 * Every kernel that is not yet settled with this agent, and every kernel in its report. Indexes: kernels_on_agent,
 * primary key.
 */
const recordedKernels = (agentId: string, observedIds: string) => {
  const unsettled = `agent_id = ${agentId} AND (slots_held OR NOT confirmed_gone)`
  // Two parts that share no kernel: an OR would use neither index, and UNION would compare whole rows.
  return `
${recordedWhere(unsettled)}
UNION ALL
${recordedWhere(`id = ANY(${observedIds}::uuid[]) AND (${unsettled}) IS NOT TRUE`)}`
}

const recordedWhere = (condition: string) => `
SELECT id, agent_id AS "agentId", assignment, status, confirmed_gone AS "confirmedGone", error IS NOT NULL AS failed,
  started_at::text AS "startedAt", exit_code AS "exitCode", in_time AS "inTime", note, waits, host, slurm_job_id AS "slurmJobId", gpus, gpu_usage AS "gpuUsage", progress
FROM kernels WHERE ${condition}`

/**
 * Records that the agent was heard, at most once a second, and reads its kernels. A suspected or lost agent becomes
 * alive again.
 */
const HEARD_SQL = keepsPlan(`
WITH known AS (
  SELECT id, status, instance_id = $2 AS current, gpu_returns, gpu_takes, gpus FROM agents WHERE id = $1
), heard AS (
  UPDATE agents a SET last_heard_at = reprise_now(),
    status = CASE WHEN a.status NOT IN ('SUSPECT', 'LOST') THEN a.status
      WHEN a.drained_at IS NULL THEN 'ALIVE' ELSE 'DRAINING' END
  FROM known WHERE a.id = known.id AND known.current
    AND (a.last_heard_at < reprise_now() - interval '1 second' OR a.status IN ('SUSPECT', 'LOST'))
  RETURNING known.id, known.status, a.status AS now
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'AGENT', id, 'agent-sync', status::text, now::text, 'SUCCESS', 'heard again' FROM heard
  WHERE status IN ('SUSPECT', 'LOST')
)
SELECT current, status IN ('SUSPECT', 'LOST') AS "wasAway",
  (SELECT json_agg(json_build_object('channelId', c.id, 'secret', c.secret, 'url', c.url))
    FROM channels c WHERE c.agent_id = $1 AND c.expires_at > reprise_now()) AS channels,
  gpu_returns AS "returnGpus",
  CASE WHEN gpu_takes IS NOT NULL THEN (SELECT json_agg(json_build_object('uuid', t.key, 'reason', t.value))
    FROM jsonb_each_text(gpu_takes) AS t JOIN jsonb_array_elements(gpus) AS g ON g ->> 'uuid' = t.key) END AS "takeGpus",
  (SELECT coalesce(json_agg(recorded), '[]') FROM (${recordedKernels('$1', '$3')}) AS recorded) AS kernels
FROM known`)

interface Heartbeat {
  current: boolean
  wasAway: boolean
  /** Null if no channel is requested. */
  channels: ChannelOrder[] | null
  /** UUIDs of GPUs to put back into service; null for none. */
  returnGpus: string[] | null
  /** GPUs to take out of service, as far as the agent sees them; null for none. */
  takeGpus: GpuTake[] | null
  /** See `readRecordedKernels`. */
  kernels: RecordedKernel[]
}

/** Returns undefined if the agent is unknown. Index: channels_agent_id_idx, of a table that is almost always empty. */
export async function recordHeartbeat(
  db: Queryable,
  agentId: string,
  instanceId: string,
  observedIds: readonly string[],
): Promise<Heartbeat | undefined> {
  return (await db.query<Heartbeat>(HEARD_SQL, [agentId, instanceId, observedIds])).rows[0]
}

const RECORDED_SQL = keepsPlan(recordedKernels('$1', '$2'))

/** Reads every kernel that is not yet settled with this agent, and every kernel in its report. */
export async function readRecordedKernels(
  db: Queryable,
  agentId: string,
  observedIds: readonly string[],
): Promise<RecordedKernel[]> {
  return (await db.query<Omit<RecordedKernel, 'neverRunTwice' | 'oomIsFailure'>>(RECORDED_SQL, [agentId, observedIds]))
    .rows
}

/** Indexes: both primary keys. */
const IGNORING_OOM_SQL = `
SELECT k.id FROM kernels k JOIN sessions s ON s.id = k.session_id
WHERE k.id = ANY($1::uuid[]) AND s.retry_policy -> 'oomIsFailure' = 'false'::jsonb`

/** Returns those of the kernels whose sessions' policies have `oomIsFailure: false`. */
export async function readKernelsIgnoringOom(db: Queryable, kernelIds: string[]): Promise<ReadonlySet<string>> {
  if (kernelIds.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>(IGNORING_OOM_SQL, [kernelIds])
  return new Set(rows.map(({ id }) => id))
}

/** Indexes: both primary keys. */
const RUN_ONCE_SQL = `
SELECT k.id FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE k.id = ANY($1::uuid[]) AND s.never_run_twice`

/** Returns those of the kernels that must not run twice. */
export async function readKernelsThatRunOnce(db: Queryable, kernelIds: string[]): Promise<ReadonlySet<string>> {
  if (kernelIds.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>(RUN_ONCE_SQL, [kernelIds])
  return new Set(rows.map(({ id }) => id))
}

/**
 * Applies changes to kernels. Each takes effect only on the assignment and from the status for which it was made, and
 * none does if another server has recorded something from a newer sync. Only syncs that record something count as
 * newer: a sync without changes would otherwise make an older report, which lacks a kernel, look like a sign that the
 * kernel is gone. The recorded run time of a kernel is at most the age of its row, even if the agent reports more.
 * Locks: the agent, then kernels in id order.
 */
const changesStatement = ({ files }: { files: boolean }) => `
WITH turn AS (
  UPDATE agents SET last_sequence = $3 WHERE id = $4 AND instance_id = $5 AND last_sequence <= $3 RETURNING id
), changes AS (
  SELECT c.* FROM turn, json_to_recordset($1::json) AS c("id" uuid, "assignment" int, "from" kernel_status, "to" kernel_status,
    "started" bool, "ended" bool, "gone" bool, "exitCode" int, "oomKilled" bool, "stopped" bool, "inTime" bool, "error" jsonb, "port" int,
    "usage" jsonb, "gpus" jsonb, "gpuUsage" jsonb, "progress" text, "note" text, "waits" bool, "host" text, "slurmJobId" text${files ? ', "foundCheckpoint" jsonb, "leftCheckpoint" jsonb, "leftOutputs" bool' : ''})
), locked AS (
  SELECT c.*${files ? ', c."foundCheckpoint" AS found_checkpoint, c."leftCheckpoint" AS left_checkpoint' : ''}
  FROM changes c JOIN kernels k USING (id) ORDER BY k.id FOR NO KEY UPDATE OF k
), changed AS (
  UPDATE kernels k SET
    status = c."to",
    status_changed_at = CASE WHEN k.status = c."to" THEN k.status_changed_at ELSE reprise_now() END,
    started_at = CASE WHEN c."started" THEN coalesce(k.started_at, reprise_now()) ELSE k.started_at END,
    terminated_at = CASE WHEN c."ended" THEN reprise_now() ELSE k.terminated_at END,
    slots_held = k.slots_held AND NOT c."ended",
    confirmed_gone = k.confirmed_gone OR c."gone",
    exit_code = coalesce(c."exitCode", k.exit_code),
    oom_killed = k.oom_killed OR c."oomKilled",
    stopped = k.stopped OR c."stopped",
    in_time = coalesce(c."inTime", k.in_time),
    port = CASE WHEN c."port" IS NULL THEN k.port
      ELSE (SELECT c."port" FROM sessions s WHERE s.id = k.session_id AND s.port_variable IS NOT NULL) END,
    peak_memory_bytes = coalesce((c."usage" ->> 'peakMemoryBytes')::bigint, k.peak_memory_bytes),
    cpu_seconds = coalesce((c."usage" ->> 'cpuSeconds')::float8, k.cpu_seconds),
    wall_seconds = CASE WHEN c."usage" ->> 'wallSeconds' IS NULL THEN k.wall_seconds
      ELSE least((c."usage" ->> 'wallSeconds')::float8, round(extract(epoch FROM reprise_now() - k.created_at), 3)) END,
    usage_source = coalesce((c."usage" ->> 'source')::usage_source, k.usage_source),
    gpus = coalesce(c."gpus", k.gpus),
    gpu_usage = coalesce(c."gpuUsage", k.gpu_usage),
    progress = coalesce(c."progress", k.progress),
    progress_at = CASE WHEN c."progress" IS NULL THEN k.progress_at ELSE reprise_now() END,
    note = c."note",
    waits = c."waits",
    waited_until = CASE WHEN k.waits AND NOT c."waits" THEN reprise_now() ELSE k.waited_until END,
    host = c."host",
    slurm_job_id = c."slurmJobId",
    reason = coalesce(c."error" ->> 'name', k.reason),
    error = CASE WHEN c."error" IS NULL THEN k.error ELSE c."error" || jsonb_build_object('agentId', k.agent_id) END
  FROM locked c
  WHERE k.id = c.id AND k.assignment = c."assignment" AND k.status = c."from"
  RETURNING k.id
), stale AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, result, message)
  SELECT 'KERNEL', "kernelId", 'agent-sync', 'SKIPPED', 'stale report: ' || "status" || ' after its end was recorded'
  FROM turn, json_to_recordset($2::json) AS s("kernelId" uuid, "status" text)
  WHERE NOT EXISTS (SELECT FROM scheduling_history h WHERE h.entity_id = "kernelId" AND h.phase = 'agent-sync')
)${files ? CHECKPOINT_CHANGES + LEFT_OUTPUTS : ''}
SELECT EXISTS (SELECT FROM turn) AS "inTurn", ARRAY(SELECT id FROM changed) AS "changedIds",
  ${files ? MISSING_CHECKPOINTS : '0'} AS "missingCheckpoints"`

/**
 * Outputs for which the session did not ask have a row from the end on, so that people can wait for them. If another
 * transaction holds the session, waiting for it could be a deadlock; then the row is added when the agent sends them.
 */
const LEFT_OUTPUTS = `, leaving AS (
  SELECT s.id, s.project_id
  FROM changed JOIN locked c USING (id) JOIN kernels k USING (id) JOIN sessions s ON s.id = k.session_id
  WHERE c."leftOutputs" AND k.role = 'main' AND k.index = 1 FOR KEY SHARE OF s SKIP LOCKED
), left_outputs AS (
  INSERT INTO session_outputs (session_id, project_id) SELECT id, project_id FROM leaving ON CONFLICT DO NOTHING
)`

const CHANGES_SQL = keepsPlan(changesStatement({ files: false }))
const FILES_TOO_SQL = keepsPlan(changesStatement({ files: true }))

export interface AppliedChanges {
  /** Ids of kernels. */
  changed: Set<string>
  /** Number of sessions that are now recorded as started without an existing checkpoint. */
  missingCheckpoints: number
}

/** Returns undefined if the sync was late and changed nothing. */
export async function applyKernelChanges(
  db: Queryable,
  sync: { agentId: string; instanceId: string; sequence: number },
  { changes, stale }: Pick<Reconciliation, 'changes' | 'stale'>,
): Promise<AppliedChanges | undefined> {
  const values = [JSON.stringify(changes), JSON.stringify(stale), sync.sequence, sync.agentId, sync.instanceId]
  const tells = changes.some(
    ({ foundCheckpoint, leftCheckpoint, leftOutputs }) =>
      foundCheckpoint !== null || leftCheckpoint !== null || leftOutputs,
  )
  const { rows } = await db.query<{ inTurn: boolean; changedIds: string[]; missingCheckpoints: number }>(
    tells ? FILES_TOO_SQL : CHANGES_SQL,
    values,
  )
  const { inTurn, changedIds, missingCheckpoints } = rows[0]!
  return inTurn ? { changed: new Set(changedIds), missingCheckpoints } : undefined
}
