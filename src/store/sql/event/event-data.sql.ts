import type { RetryEventData, StatusEventData } from '../../../domain/events.ts'

/** Builds `data` of an event in SQL, from an expression for each of its fields. */
export function eventData<Data>(fields: { [Field in keyof Data]: string }): string {
  const pairs = Object.entries<string>(fields).map(([field, expression]) => `'${field}', ${expression}`)
  return `jsonb_build_object(${pairs.join(', ')})`
}

/**
 * The position of events about session `s`, which the transaction has locked. Readers order events by position, and
 * this one is not below those of the session's earlier events. The transaction's own id may be: a transaction that
 * locks several sessions has its id before it gets to the last of them, and a younger one may have moved that one
 * meanwhile. Readers wait for all transactions up to a position, so a higher one hides nothing.
 */
export const EVENT_POSITION = 'greatest(s.event_position, outbox_position(pg_current_xact_id()))'

/**
 * The position of events about the decision `d`, which the transaction has locked. It is stored with the decision: a
 * pending retry is changed by transactions that do not write to its session.
 */
export const DECISION_POSITION = 'greatest(d.event_position, outbox_position(pg_current_xact_id()))'

/** The same, of a session by the expression for its id, in statements that do not change the session: it is not stored. */
export const positionOf = (id: string) => `(SELECT ${EVENT_POSITION} FROM sessions s WHERE s.id = ${id})`

/**
 * Writes the events of sessions that moved from "from" to "to". `rows` has these two columns, `id`, `chain_id`,
 * `project_id`, and `event_position` as the statement has stored it.
 */
export function insertStatusEvents(rows: string, { reason }: { reason: string }): string {
  return `INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, CASE "to" WHEN 'TERMINATED' THEN 'session.terminated' WHEN 'ERROR' THEN 'session.error'
      WHEN 'CANCELLED' THEN 'session.cancelled' ELSE 'session.status_changed' END, id, chain_id, project_id,
    ${eventData<StatusEventData>({ from: '"from"', to: '"to"', reason })}
  FROM ${rows}`
}

/**
 * Builds `data` of an event about a decision. Its row has `cause`, `delay_ms` and `due_at`, and the session's
 * `retry_count` and `max_retries`.
 */
export function retryEventData({ reason }: { reason: string }): string {
  return eventData<RetryEventData>({
    attempt: 'retry_count + 1',
    maxAttempts: 'max_retries + 1',
    cause: 'cause',
    delaySeconds: 'delay_ms / 1000.0',
    scheduledAt: `to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    childSessionId: 'NULL',
    reason,
  })
}
