/** The columns of a delivery made from an event `e`, a webhook `w` and DELIVERY_SOURCES. */
export const DELIVERY_COLUMNS = 'id, webhook_id, event_id, event_type, occurred_at, session_id, chain_id, facts'

/**
 * What an event is about: a session `s`, or a deployment `d` with the revision `v` of the deployment or of its route
 * `r`; and their project `p`. A webhook `w` gets events about whatever has all of its labels.
 */
export const DELIVERY_SOURCES = `JOIN projects p ON p.id = e.project_id
  LEFT JOIN sessions s ON s.id = e.session_id
  LEFT JOIN deployments d ON d.id = e.deployment_id
  LEFT JOIN routes r ON r.id = e.route_id
  LEFT JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = coalesce(r.revision, d.revision)
  WHERE coalesce(s.labels, v.labels) @> w.labels`

/** Whether the events that a webhook `w` asks for include this type. */
export function hasPatternFor(type: string): string {
  return `EXISTS (SELECT FROM unnest(w.event_types) AS p(pattern)
    WHERE ${type} LIKE replace(replace(p.pattern, '_', '\\_'), '*', '%'))`
}

/** `place`: the position among the deliveries of one statement, below 4096. Ids are UUIDv7: time, place, random. */
export function deliverySelect(place: string): string {
  return `(lpad(to_hex(floor(extract(epoch FROM reprise_now()) * 1000)::int8), 12, '0') || '7'
      || lpad(to_hex(${place} % 4096), 3, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid,
    w.id, e.id, e.type, e.occurred_at, e.session_id, e.chain_id,
    jsonb_build_object('event', e.data) || CASE WHEN e.session_id IS NULL
      THEN jsonb_build_object('deployment', jsonb_build_object('id', d.id, 'routeId', e.route_id, 'name', d.name,
        'project', p.name))
      ELSE jsonb_build_object('session', jsonb_build_object('name', s.name, 'type', s.session_type, 'project', p.name,
        'parentSessionId', s.parent_session_id, 'attempt', s.retry_count + 1, 'maxAttempts',
        CASE s.session_type WHEN 'BATCH' THEN s.max_retries ELSE 0 END + 1,
        'exitCode', s.exit_code)) END`
}
