import type { ResubmissionOverrides } from '../../../domain/resubmission.ts'
import type { SessionAction } from '../../../domain/session/session-spec.ts'
import type { Queryable } from '../../database.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'

export interface TerminationOptions {
  force?: boolean
  reason?: string
}

export interface NewResubmission {
  id: string
  /** Null for a viewer of all projects. */
  projectId: string | null
  clientKey: string
  requestHash: string
  actor: string
  action: SessionAction
  filter: object | null
  overrides: ResubmissionOverrides | TerminationOptions
  includeSucceeded: boolean
  /** The position of the first dependent in the list; null if dependents are not included. */
  dependentsFrom: number | null
  /** The actor in the audit log. */
  auditedActor: Actor
  /** The overrides as the audit log records them. */
  auditedOverrides: object
  sessionIds: readonly string[]
  /** Positions of ids that occur earlier in the list. */
  repeated: readonly number[]
}

/**
 * Inserts the record with its targets, and the audit entry; nothing if the key is known. A concurrent call with the
 * same key waits until the first has committed or failed. 100,000 targets take about a second.
 */
const SQL = `
WITH opened AS (
  INSERT INTO resubmissions (id, project_id, client_key, request_hash, actor, filter, overrides, include_succeeded, action, total, refused,
    dependents_from, state, finished_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, $11, $13, cardinality($8::uuid[]), cardinality($9::int[]),
    $15, CASE WHEN cardinality($8) = cardinality($9) THEN 'COMPLETED'::resubmission_state ELSE 'RUNNING' END,
    CASE WHEN cardinality($8) = cardinality($9) THEN reprise_now() END
  ON CONFLICT (project_id, client_key) DO NOTHING
  RETURNING id, project_id, total
), items AS (
  INSERT INTO resubmission_items (resubmission_id, position, session_id, status, code, message)
  SELECT opened.id, target.place - 1, target.session_id,
    CASE WHEN r IS NULL THEN 'PENDING'::resubmission_item_status ELSE 'REFUSED' END,
    CASE WHEN r IS NOT NULL THEN 'SESSION_NAMED_TWICE' END,
    CASE WHEN r IS NOT NULL THEN 'session ' || target.session_id || ' was named before' END
  FROM opened, unnest($8) WITH ORDINALITY AS target(session_id, place)
  LEFT JOIN unnest($9) AS r ON r = target.place - 1
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$12')}, $14, project_id,
    jsonb_build_object('resubmissionId', id, 'clientKey', $3::text, 'total', total, 'filter', $6::jsonb, 'overrides', $10::jsonb,
      'includeSucceeded', $11::boolean, 'includeDependents', $15::int IS NOT NULL)
  FROM opened
)
SELECT FROM opened`

const AUDITED: Readonly<Record<SessionAction, string>> = {
  RESUBMIT: 'session.resubmit',
  TERMINATE: 'session.terminate-many',
  CANCEL_RETRY: 'retry.cancel-many',
  RETRY_NOW: 'retry.now-many',
}

/** Returns whether this call inserted it. */
export async function openResubmission(tx: Queryable, record: NewResubmission): Promise<boolean> {
  const { rowCount } = await tx.query(SQL, [
    record.id,
    record.projectId,
    record.clientKey,
    record.requestHash,
    record.actor,
    record.filter === null ? null : JSON.stringify(record.filter),
    JSON.stringify(record.overrides),
    record.sessionIds,
    record.repeated,
    JSON.stringify(record.auditedOverrides),
    record.includeSucceeded,
    JSON.stringify(record.auditedActor),
    record.action,
    AUDITED[record.action],
    record.dependentsFrom,
  ])
  return rowCount === 1
}

const KNOWN_SQL = `
SELECT id, request_hash AS "requestHash" FROM resubmissions
WHERE project_id IS NOT DISTINCT FROM $1 AND client_key = $2`

export async function findResubmissionByKey(
  db: Queryable,
  projectId: string | null,
  clientKey: string,
): Promise<{ id: string; requestHash: string } | undefined> {
  return (await db.query<{ id: string; requestHash: string }>(KNOWN_SQL, [projectId, clientKey])).rows[0]
}

export type ResubmissionState = 'RUNNING' | 'COMPLETED' | 'ABORTED'

/** Aborts a resubmission. It waits for the batch in progress, whose result stays. */
const ABORT_RESUBMISSION = `
WITH found AS (
  SELECT id, state, project_id FROM resubmissions WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2) FOR UPDATE
), aborted AS (
  UPDATE resubmissions r SET state = 'ABORTED', aborted_by = $3, finished_at = reprise_clock(),
    progressed_at = reprise_clock()
  FROM found f WHERE r.id = f.id AND f.state = 'RUNNING'
  RETURNING r.id, r.project_id, r.done, r.refused, r.total
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$4')}, 'resubmission.abort', project_id,
    jsonb_build_object('resubmissionId', id, 'done', done, 'refused', refused, 'total', total)
  FROM aborted
)
SELECT state FROM found`

/** Returns the state before the call; undefined if this viewer has no such resubmission. */
export async function abortResubmissionRow(
  db: Queryable,
  resubmission: { id: string; visibleProjectId: string | null; actor: Actor },
): Promise<ResubmissionState | undefined> {
  const values = [resubmission.id, resubmission.visibleProjectId, resubmission.actor.name]
  values.push(JSON.stringify(resubmission.actor))
  return (await db.query<{ state: ResubmissionState }>(ABORT_RESUBMISSION, values)).rows[0]?.state
}

/**
 * Adds the reason afterwards, because the trigger that writes these events does not know the resubmission. Index:
 * session_events(xid, id), of the new sessions' position.
 */
const ATTRIBUTE_REOPENINGS = `
UPDATE session_events SET data = data || jsonb_build_object('reason', $2::text)
WHERE xid = ANY(ARRAY(SELECT DISTINCT s.event_position FROM sessions s WHERE s.id = ANY($1::uuid[])))
  AND type = 'chain.reopened' AND session_id = ANY($1::uuid[])`

/** Adds the reason to the events of chains that this transaction has reopened by these sessions. */
export async function attributeReopenings(tx: Queryable, sessionIds: readonly string[], reason: string): Promise<void> {
  if (sessionIds.length > 0) await tx.query(ATTRIBUTE_REOPENINGS, [sessionIds, reason])
}

/**
 * Begins a new generation of checkpoints. Locks: checkpoints, in the order of their chains, as reports of agents do. A
 * later report about an attempt of an earlier generation finds another generation on record and changes nothing.
 */
const BEGIN_GENERATIONS = `
INSERT INTO checkpoints AS c (chain_id, project_id, generation)
SELECT s.id, s.project_id, 1 FROM sessions s WHERE s.id = ANY($1::uuid[]) ORDER BY s.id
ON CONFLICT (chain_id) DO UPDATE SET generation = c.generation + 1, attempt = NULL, assignment = NULL, store = NULL, files = NULL,
  bytes = NULL, newest_at = NULL, published_at = NULL, dropped_at = NULL, relay_attempt = NULL, relay_sha256 = NULL,
  relay_bytes = NULL, relay_at = NULL`

/** Gives the next attempt of these chains a new, empty directory. */
export async function beginGenerations(tx: Queryable, chainIds: readonly string[]): Promise<void> {
  await tx.query(BEGIN_GENERATIONS, [chainIds])
}
