/** Columns of a delivery made from an event `e`, a webhook `w`, a session `s` and its project `p`. */
export const DELIVERY_COLUMNS = 'id, webhook_id, event_id, event_type, occurred_at, session_id, chain_id, facts'

/** `place`: below 4096, the order of deliveries made in one statement. Ids are UUIDv7: time, place, random. */
export function deliverySelect(place: string): string {
  return `(lpad(to_hex(floor(extract(epoch FROM now()) * 1000)::int8), 12, '0') || '7'
      || lpad(to_hex(${place} % 4096), 3, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid,
    w.id, e.id, e.type, e.occurred_at, e.session_id, e.chain_id,
    jsonb_build_object('event', e.data, 'session', jsonb_build_object('name', s.name, 'type', s.session_type,
      'project', p.name, 'parentSessionId', s.parent_session_id, 'attempt', s.retry_count + 1,
      'maxAttempts', s.max_retries + 1, 'exitCode', s.exit_code))`
}
