import type { RetryPhase } from '../../../domain/session/failure.ts'
import type { SessionStatus } from '../../../domain/session/lifecycle.ts'
import type { Queryable } from '../../database.ts'
import { DECISION_POSITION, retryEventData } from '../event/event-data.sql.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'
import { endWaits, NOT_HELD } from './retry-waits.sql.ts'
import type { StatedPolicy } from '../../../domain/retry/policy/resolve-policy.ts'
import type { DecisionRow } from './record-decisions.sql.ts'

/** A session whose state stays fixed while the transaction lasts. */
export interface LockedSession {
  id: string
  chainId: string
  projectId: string
  status: SessionStatus
  retryDecided: boolean
  /** The phase of its decision; null if there is none. */
  retryPhase: RetryPhase | null
}

/**
 * Locks sessions in id order, as everywhere that takes more than one. FOR UPDATE would be too strong, see
 * `lockTargets`.
 */
const SESSIONS_SQL = `
SELECT id FROM sessions WHERE id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR project_id = $2)
ORDER BY id FOR NO KEY UPDATE`

/** Waits for a dispatcher that is working on one of the decisions, and keeps others from claiming one. */
const DECISIONS_SQL = `
SELECT FROM retry_decisions WHERE session_id = ANY($1::uuid[]) ORDER BY session_id FOR UPDATE`

/** A separate statement, so that it sees what was committed while it waited for the locks. */
const READ_SQL = `
SELECT s.id, s.chain_id AS "chainId", s.project_id AS "projectId", s.status, s.retry_decided AS "retryDecided", d.phase AS "retryPhase"
FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id WHERE s.id = ANY($1::uuid[])`

/** Locks sessions with their decisions and returns them by id; those of another project are missing. */
export async function lockSessions(
  tx: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, LockedSession>> {
  const held = await tx.query<{ id: string }>(SESSIONS_SQL, [sessionIds, visibleProjectId])
  const ids = held.rows.map(({ id }) => id)
  await tx.query(DECISIONS_SQL, [ids])
  const { rows } = await tx.query<LockedSession>(READ_SQL, [ids])
  return new Map(rows.map((row) => [row.id, row]))
}

const TAILS_SQL = `
SELECT s.id, c.tail_id AS "tailId" FROM sessions s JOIN chains c ON c.chain_id = s.chain_id
WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)`

/**
 * Locks the newest attempt of the chain of each of these sessions, with its decision; returns it by the session's id.
 * While an attempt is awaited, a child may take its place: then the child is locked as well, until the newest one is
 * held. From then on, no other transaction can add an attempt to the chain.
 */
export async function lockTails(
  tx: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, LockedSession>> {
  const locked = new Map<string, LockedSession>()
  const tried = new Set<string>()
  for (;;) {
    const { rows } = await tx.query<{ id: string; tailId: string }>(TAILS_SQL, [sessionIds, visibleProjectId])
    const missing = new Set(rows.flatMap(({ tailId }) => (tried.has(tailId) ? [] : [tailId])))
    if (missing.size === 0) return new Map(rows.flatMap(({ id, tailId }) => entryOf(id, locked.get(tailId))))
    for (const [id, session] of await lockSessions(tx, [...missing], null)) locked.set(id, session)
    for (const id of missing) tried.add(id)
  }
}

/** Reads the newest attempt of the chain of each of these sessions, by the session's id; nothing is locked. */
export async function readNewestAttempts(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<Map<string, LockedSession>> {
  if (sessionIds.length === 0) return new Map()
  const tails = await db.query<{ id: string; tailId: string }>(TAILS_SQL, [sessionIds, null])
  const { rows } = await db.query<LockedSession>(READ_SQL, [tails.rows.map(({ tailId }) => tailId)])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return new Map(tails.rows.flatMap(({ id, tailId }) => entryOf(id, byId.get(tailId))))
}

function entryOf<Value>(key: string, value: Value | undefined): [string, Value][] {
  return value === undefined ? [] : [[key, value]]
}

const MARK_SQL = `
UPDATE chains SET cancelled_at = reprise_now(), cancelled_by = $2 WHERE chain_id = ANY($1::uuid[]) AND cancelled_at IS NULL`

/** Marks chains as cancelled: they get no further retry until somebody resubmits them. The transaction holds their tails. */
export async function markCancelled(tx: Queryable, chainIds: readonly string[], actor: Actor): Promise<void> {
  if (chainIds.length > 0) await tx.query(MARK_SQL, [chainIds, actor.name])
}

/**
 * Builds the statement with which a person changes pending retries, which must be SCHEDULED or HELD: it changes
 * decisions, ends their waits, and writes events and audit entries. Callers that change several have locked them in
 * session order before.
 */
function statementFor(change: { sets: string; event: string; action: string; marks: boolean }): string {
  return `
WITH found AS (
  SELECT s.id, s.retry_count, s.max_retries, s.retry_policy FROM sessions s WHERE s.id = ANY($1::uuid[])
), changed AS (
  UPDATE retry_decisions d SET ${change.sets}, event_position = ${DECISION_POSITION}
  FROM found f WHERE d.session_id = f.id AND d.phase IN ('SCHEDULED', 'HELD')
  RETURNING d.session_id, d.chain_id, d.project_id, d.cause, d.delay_ms, d.due_at, f.retry_count, f.max_retries,
    f.retry_policy, d.event_position
), ${endWaits('changed')}, ${change.marks ? MARKED : ''}events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, '${change.event}', session_id, chain_id, project_id, ${retryEventData({ reason: '$3::text' })}
  FROM changed WHERE retry_policy -> 'emitRetryEvents' IS DISTINCT FROM 'false'::jsonb
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id)
  SELECT ${actorValues('$2')}, '${change.action}', project_id, session_id FROM changed
)
SELECT FROM changed`
}

/** The chain is marked as cancelled before the trigger on decisions computes its state. */
const MARKED = `marked AS (
  UPDATE chains c SET cancelled_at = reprise_now(), cancelled_by = $2::jsonb ->> 'name'
  FROM changed WHERE c.chain_id = changed.chain_id AND c.cancelled_at IS NULL
), `

const CANCELLED = {
  sets: `phase = 'CANCELLED', ${NOT_HELD}, abandoned_at = reprise_now(), explanation = d.explanation || '; ' || $3`,
  event: 'session.retry_cancelled',
  action: 'retry.cancel',
}
const CANCEL_SQL = statementFor({ ...CANCELLED, marks: true })
/** A resubmission takes the place of the retry: the chain goes on. */
const SUPERSEDE_SQL = statementFor({ ...CANCELLED, marks: false })

/**
 * A held retry may be made due several times: `explained` keeps the original explanation, and only the last note is
 * appended to it.
 */
const NOW_SQL = statementFor({
  sets: `phase = 'SCHEDULED', ${NOT_HELD}, due_at = reprise_now(), ready_at = reprise_now(),
    explanation = coalesce(d.details ->> 'explained', d.explanation) || '; ' || $3,
    details = CASE WHEN jsonb_typeof(d.details) = 'object' THEN d.details
      || jsonb_build_object('explained', coalesce(d.details ->> 'explained', d.explanation)) ELSE d.details END`,
  event: 'session.retry_scheduled',
  action: 'retry.now',
  marks: false,
})

/** Changes several pending retries; the transaction has locked their decisions. */
export async function changePendingRetries(
  tx: Queryable,
  change: 'cancel' | 'now',
  { sessionIds, actor, message }: { sessionIds: readonly string[]; actor: Actor; message: string },
): Promise<void> {
  if (sessionIds.length === 0) return
  const statement = change === 'cancel' ? CANCEL_SQL : NOW_SQL
  await tx.query(statement, [sessionIds, JSON.stringify(actor), message])
}

/**
 * Cancels the pending retries among those of these sessions and returns their number. `reason` names what replaces
 * them.
 */
export async function supersedePendingRetries(
  tx: Queryable,
  { sessionIds, actor, reason }: { sessionIds: readonly string[]; actor: Actor; reason: string },
): Promise<number> {
  return (await tx.query(SUPERSEDE_SQL, [sessionIds, JSON.stringify(actor), reason])).rowCount ?? 0
}

interface UpdatedRetry {
  decision: DecisionRow
  policy: StatedPolicy
  sources: Record<string, string>
  actor: Actor
  /** The given fields of the policy, and their values before. */
  change: { given: object; before: object }
}

/**
 * Writes a retry that was decided again: policy, decision, end of the wait, event and audit entry. The caller has
 * locked both rows.
 */
const UPDATE_SQL = `
WITH input AS (
  SELECT * FROM json_to_record($1::json) AS i(
    "sessionId" uuid, "projectId" uuid, "chainId" uuid, "phase" retry_phase, "cause" failure_cause,
    "matchedRule" int, "counted" bool, "baseDelayMs" int, "jitterMs" int, "delayMs" int, "dueAt" timestamptz,
    "explanation" text, "details" jsonb, "event" text, "eventData" jsonb)
), decided AS (
  UPDATE sessions s SET retry_policy = $2, retry_policy_sources = $3, max_retries = ($2::jsonb ->> 'maxRetries')::int
  FROM input i WHERE s.id = i."sessionId"
), decisions AS (
  UPDATE retry_decisions d SET phase = i."phase", cause = i."cause", matched_rule = i."matchedRule",
    counted = i."counted", base_delay_ms = i."baseDelayMs", jitter_ms = i."jitterMs", delay_ms = i."delayMs",
    due_at = i."dueAt", ready_at = i."dueAt", ${NOT_HELD}, explanation = i."explanation",
    details = i."details", decided_at = reprise_now(), event_position = ${DECISION_POSITION}, abandoned_at = CASE WHEN i."phase" <> 'SCHEDULED' THEN reprise_now() END
  FROM input i WHERE d.session_id = i."sessionId" AND d.phase IN ('SCHEDULED', 'HELD')
  RETURNING d.session_id, d.event_position
), ${endWaits('decisions')}, events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT d.event_position, "event", "sessionId", "chainId", "projectId", "eventData"
  FROM input JOIN decisions d ON d.session_id = "sessionId" WHERE "event" IS NOT NULL
)
INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id, details)
SELECT ${actorValues('$4')}, 'retry.update', "projectId", "sessionId",
  jsonb_build_object('phase', "phase", 'explanation', "explanation") || $5::jsonb
FROM input`

export async function updateRetryRow(tx: Queryable, updated: UpdatedRetry): Promise<void> {
  const { decision, policy, sources, actor, change } = updated
  const rows = [decision, policy, sources].map((value) => JSON.stringify(value))
  await tx.query(UPDATE_SQL, [...rows, JSON.stringify(actor), JSON.stringify(change)])
}
