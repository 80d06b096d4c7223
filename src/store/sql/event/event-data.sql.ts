import type { RetryEventData, StatusEventData } from '../../../domain/events.ts'

/** Builds `data` of an event in SQL, from an expression for each of its fields. */
export function eventData<Data>(fields: { [Field in keyof Data]: string }): string {
  const pairs = Object.entries<string>(fields).map(([field, expression]) => `'${field}', ${expression}`)
  return `jsonb_build_object(${pairs.join(', ')})`
}

/**
 * Writes the events of sessions that moved from "from" to "to". `rows` has these two columns, `id`, `chain_id` and
 * `project_id`.
 */
export function insertStatusEvents(rows: string, { reason }: { reason: string }): string {
  return `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT CASE "to" WHEN 'TERMINATED' THEN 'session.terminated' WHEN 'ERROR' THEN 'session.error'
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
