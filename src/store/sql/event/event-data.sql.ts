import type { RetryEventData, StatusEventData } from '../../../domain/events.ts'

/** `data` of an event as SQL writes it: an expression for each field that its readers have. */
export function eventData<Data>(fields: { [Field in keyof Data]: string }): string {
  const pairs = Object.entries<string>(fields).map(([field, expression]) => `'${field}', ${expression}`)
  return `jsonb_build_object(${pairs.join(', ')})`
}

/**
 * Writes the events of sessions that moved from "from" to "to", by `rows` with these, `id`, `chain_id` and
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
 * `data` of the event about a decision, of which the row has `cause`, `delay_ms` and `due_at`, and of its session
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
