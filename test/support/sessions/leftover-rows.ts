import type { Database } from '../../../src/store/database.ts'
import { withoutTriggers } from './many-chains.ts'

/** Kernels, events and history of the sessions that `addManyChains` made. */
export async function addRowsOfSessions(db: Database): Promise<void> {
  for (const statement of LEFT) await withoutTriggers(db, statement)
  await db.query('VACUUM ANALYZE')
}

const LEFT = [
  `INSERT INTO kernels (id, session_id, role, index, status, resource_slots, confirmed_gone, started_at)
   SELECT gen_random_uuid(), id, 'main', 1, CASE WHEN status = 'RUNNING' THEN 'RUNNING' ELSE 'TERMINATED' END::kernel_status,
     '{"cpu": "1"}', true, started_at FROM sessions`,
  `INSERT INTO session_events (type, session_id, chain_id, project_id, data, occurred_at)
   SELECT 'session.created', id, chain_id, project_id, '{}', created_at FROM sessions ORDER BY created_at`,
  `INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result)
   SELECT 'SESSION', id, 'schedule-sessions', 'PENDING', 'SCHEDULED', 'SUCCESS' FROM sessions`,
]

/** Adds as many logs, audit entries, webhooks with deliveries, and resubmissions with refused items. */
export async function addRowsOfPeople(db: Database): Promise<void> {
  for (const statement of ASKED_FOR) await withoutTriggers(db, statement)
  await db.query('VACUUM ANALYZE')
}

const ASKED_FOR = [
  `INSERT INTO kernel_logs (kernel_id, stream, "offset", bytes, text, at)
   SELECT id, 'STDOUT', 0, 1, 'a', started_at FROM kernels ORDER BY started_at`,
  `INSERT INTO audit_log (at, actor, action, session_id) SELECT created_at, 'ada', 'session.create', id FROM sessions ORDER BY created_at`,
  `INSERT INTO scheduling_history (entity, entity_id, phase, result, last_at)
   SELECT 'AGENT', gen_random_uuid(), 'watch-agents', 'EXPIRED', created_at FROM sessions ORDER BY created_at LIMIT 5000`,
  `INSERT INTO webhooks (id, url, event_types, secret) SELECT gen_random_uuid(), 'http://127.0.0.1:1/', '{*}', convert_to(repeat('s', 32), 'UTF8') FROM generate_series(1, 5)`,
  `INSERT INTO webhook_deliveries (id, webhook_id, event_id, event_type, occurred_at, facts, status, attempts, created_at, finished_at)
   SELECT gen_random_uuid(), w.id, e.id, e.type, e.occurred_at, 'null', 'DELIVERED', 1, e.occurred_at, e.occurred_at
   FROM session_events e, (SELECT id, row_number() OVER () AS n FROM webhooks) AS w WHERE e.id % 5 = w.n - 1`,
  `INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status_code)
   SELECT id, 1, created_at, 5, 204 FROM webhook_deliveries`,
  `INSERT INTO resubmissions (id, client_key, request_hash, actor, overrides, total, refused, state, created_at, finished_at)
   SELECT gen_random_uuid(), n::text, '', 'ada', '{}', 100, 100, 'COMPLETED', at, at
   FROM generate_series(1, 300) AS n, LATERAL (SELECT now() - interval '30 days' * (1 - n / 300.0) AS at) AS it`,
  `INSERT INTO resubmission_items (resubmission_id, position, session_id, status, code, message)
   SELECT id, n, gen_random_uuid(), 'REFUSED', 'SESSION_NOT_FOUND', 'unknown' FROM resubmissions, generate_series(0, 99) AS n`,
]
