import type { Database } from '../../src/store/database.ts'

/** What a server finds in its tables. */
export interface Past {
  /** Finished ones. */
  sessions: number
  /** How long each of their chains is; all but its last attempt failed. */
  chainAttempts: number
  /** All but the one that is to come have no slots that sessions ask for. */
  agents: number
  /** Sessions that failed beside these, retried in a day. */
  pendingRetries: number
}

/** Writes a past, by statements over sets and without triggers, and what autovacuum would have made of it. */
export async function grow(db: Database, { sessions, chainAttempts, agents, pendingRetries }: Past): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica')
    await tx.query(SESSIONS, [sessions, chainAttempts, 0, false])
    if (pendingRetries > 0) await tx.query(SESSIONS, [pendingRetries, 1, 2 ** 40, true])
    for (const statement of WHAT_THEY_LEFT) await tx.query(statement)
    await tx.query(AGENTS, [agents - 1])
    await tx.query(`INSERT INTO agent_slots (agent_id, slot, declared, capacity) SELECT id, 'tpu', 1, 1 FROM agents`)
    await tx.query('SELECT refresh_chains(ARRAY(SELECT id FROM sessions WHERE attempt = 1))')
  })
  await db.query('VACUUM ANALYZE')
}

/** $3 is where the numbers of the ids begin; $4: the last attempt failed, too, and is retried. */
const SESSIONS = `
INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, resource_slots,
  cluster_mode, cluster_size, priority, labels, status, result, failure_cause, parent_session_id, chain_id, attempt,
  retry_count, origin, retry_cause, max_retries, retry_policy, retry_decided, created_at, status_changed_at, started_at,
  terminated_at)
SELECT id_of.own, (SELECT id FROM projects LIMIT 1), 'default', id_of.own::text, 'past-' || chain, 'BATCH', '{true}',
  '{"cpu": "1"}', 'SINGLE_NODE', 1, 10, '{}', CASE WHEN failed THEN 'ERROR' ELSE 'TERMINATED' END::session_status,
  CASE WHEN failed THEN 'FAILURE' ELSE 'SUCCESS' END::session_result,
  CASE WHEN failed THEN 'KERNEL_NONZERO_EXIT' END::failure_cause, CASE WHEN attempt > 1 THEN id_of.parent END,
  id_of.first, attempt, attempt - 1, CASE WHEN attempt = 1 THEN 'INITIAL' ELSE 'AUTO_RETRY' END::session_origin,
  CASE WHEN attempt > 1 THEN 'KERNEL_NONZERO_EXIT' END::failure_cause, 100, '{"maxRetries": 100}', true, at, at, at,
  at + interval '5 s'
FROM generate_series(0, $1::int - 1) AS n
CROSS JOIN LATERAL (SELECT n / $2::int AS chain, n % $2::int + 1 AS attempt,
  date_trunc('second', now()) - interval '30 days' * (1 - n::float8 / $1) - interval '1 hour' AS at) AS it
CROSS JOIN LATERAL (SELECT $4 OR attempt < $2 AND n < $1 - 1 AS failed) AS how
CROSS JOIN LATERAL (SELECT past_id($3::bigint + n) AS own, past_id($3::bigint + n - 1) AS parent,
  past_id($3::bigint + n - attempt + 1) AS first) AS id_of`.replaceAll(
  /past_id\(([^()]+)\)/g,
  (_, number) => `('00000000-0000-7000-9' || lpad(to_hex(${number}), 15, '0'))::uuid`,
)

const WHAT_THEY_LEFT = [
  `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, explanation, decided_at,
     child_session_id, dispatched_at, delay_ms, due_at, ready_at)
   SELECT s.id, s.project_id, s.chain_id, CASE WHEN s.result = 'SUCCESS' THEN 'SUCCEEDED'
       WHEN child.id IS NOT NULL THEN 'DISPATCHED' ELSE 'SCHEDULED' END::retry_phase,
     s.failure_cause, 'of the past', s.terminated_at, child.id, child.created_at, due.delay_ms, due.at, due.at
   FROM sessions s LEFT JOIN sessions child ON child.parent_session_id = s.id
   LEFT JOIN LATERAL (SELECT 86400000 AS delay_ms, now() + interval '1 day' AS at) AS due
     ON s.result = 'FAILURE' AND child.id IS NULL`,
  `INSERT INTO kernels (id, session_id, role, index, status, resource_slots, confirmed_gone, started_at, terminated_at)
   SELECT gen_random_uuid(), id, 'main', 1, status::text::kernel_status, resource_slots, true, started_at, terminated_at
   FROM sessions`,
  `INSERT INTO session_events (type, session_id, chain_id, project_id, data, occurred_at)
   SELECT 'session.created', id, chain_id, project_id, '{"from": null, "to": "PENDING"}', created_at FROM sessions`,
  `INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result)
   SELECT 'SESSION', id, 'schedule-sessions', 'PENDING', 'SCHEDULED', 'SUCCESS' FROM sessions`,
]

/** They are heard of for as long as a bench takes. */
const AGENTS = `
INSERT INTO agents (id, name, resource_group, address, version, status, instance_id, last_heard_at)
SELECT gen_random_uuid(), 'past-' || n, 'default', 'nowhere', '0', 'ALIVE', gen_random_uuid(), now() + interval '1 day'
FROM generate_series(1, $1::int) AS n`
