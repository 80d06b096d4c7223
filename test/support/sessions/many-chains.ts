import type { Database } from '../../../src/store/database.ts'

/** A batch ends within about a second: what it writes holds up the events of all databases of its server. */
const BATCH_SESSIONS = 10_000

/**
 * Sessions by the hundred thousand, as fast as PostgreSQL takes them: chains of one attempt, of three where their
 * number divides by 50, spread over `projects`, over a month up to now. One in 20 failed, one in 400 still runs; names
 * and labels have words that many, few and one of them have. Chains come from `refresh_chains`, as after a migration.
 * Answers with the ids of the projects.
 */
export async function addManyChains(db: Database, sessions: number, projects: number): Promise<string[]> {
  const ids = Array.from({ length: projects }, (_, n) => `00000000-0000-7000-8000-${String(n + 100).padStart(12, '0')}`)
  await db.query(
    `INSERT INTO projects (id, domain_id, name)
     SELECT id, (SELECT id FROM domains LIMIT 1), 'many-' || n FROM unnest($1::uuid[]) WITH ORDINALITY AS p(id, n)`,
    [ids],
  )
  await inBatches(sessions, (from, to) => withoutTriggers(db, SESSIONS, [ids, sessions, from, to]))
  await db.query('ANALYZE sessions')
  await inBatches(sessions, (from, to) => withoutTriggers(db, DECISIONS, [from, to]))
  await inBatches(sessions, (from, to) => withoutTriggers(db, CHAINS, [from, to]))
  await db.query('VACUUM ANALYZE sessions, chains, retry_decisions')
  return ids
}

/** Ranges from 1; `to` is exclusive. */
async function inBatches(count: number, add: (from: number, to: number) => Promise<void>): Promise<void> {
  for (let from = 1; from <= count; from += BATCH_SESSIONS) await add(from, Math.min(from + BATCH_SESSIONS, count + 1))
}

/** Runs a statement without triggers: foreign keys and chains are not checked row by row. */
export async function withoutTriggers(db: Database, statement: string, values: unknown[] = []): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica')
    await tx.query(statement, values)
  })
}

/** The n-th session's id. */
const NTH = (n: string) => `('00000000-0000-7000-9000-' || lpad(to_hex(${n}), 12, '0'))::uuid`

const SESSIONS = `
INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, resource_slots,
  cluster_mode, cluster_size, priority, labels, status, result, failure_cause, parent_session_id, chain_id, attempt,
  origin, retry_cause, max_retries, retry_policy, retry_decided, created_at, status_changed_at, started_at, terminated_at)
SELECT id, ($1::uuid[])[1 + chain % cardinality($1::uuid[])], 'default', 'many-' || n, 'job-' || chain || '-common', 'BATCH', '{true}',
  '{"cpu": "1"}', 'SINGLE_NODE', 1, 10, CASE WHEN chain % 20000 = 1 THEN '{"team": "rare"}' ELSE '{}' END::jsonb,
  CASE WHEN live THEN 'RUNNING' WHEN failed THEN 'ERROR' ELSE 'TERMINATED' END::session_status,
  CASE WHEN live THEN 'UNDEFINED' WHEN failed THEN 'FAILURE' ELSE 'SUCCESS' END::session_result,
  CASE WHEN failed THEN cause END, CASE WHEN attempt > 1 THEN ${NTH('n - 1')} END,
  ${NTH('n - attempt + 1')}, attempt,
  CASE WHEN attempt = 1 THEN 'INITIAL' ELSE 'AUTO_RETRY' END::session_origin, CASE WHEN attempt > 1 THEN cause END, 2, '{"maxRetries": 2}', NOT live,
  created_at, created_at, created_at + interval '5 s',
  CASE WHEN NOT live THEN created_at + make_interval(secs => 10 + chain % 977) END
FROM generate_series($3::int, $4::int - 1) AS n
CROSS JOIN LATERAL (SELECT n / 52 AS round, n % 52 AS place) AS where_it_is
CROSS JOIN LATERAL (SELECT CASE WHEN place < 3 THEN place + 1 ELSE 1 END AS attempt,
  CASE WHEN place < 3 THEN round * 50 ELSE round * 50 + place - 2 END AS chain) AS it
CROSS JOIN LATERAL (SELECT ${NTH('n')} AS id,
  chain % 400 = 7 AS live, place < 2 OR chain % 20 = 13 AS failed,
  CASE WHEN chain % 5000 = 13 THEN 'OOM_KILLED' ELSE 'KERNEL_NONZERO_EXIT' END::failure_cause AS cause,
  date_trunc('second', now()) - interval '30 days' * (1 - n::float8 / $2) - interval '20 minutes' AS created_at) AS what
-- A chain that the beginning or the end cuts through is left out.
WHERE n >= 52 AND n / 52 < $2 / 52
ORDER BY n`

const DECISIONS = `
INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, explanation, decided_at, child_session_id, dispatched_at)
SELECT s.id, s.project_id, s.chain_id,
  CASE WHEN s.result = 'SUCCESS' THEN 'SUCCEEDED' WHEN child.id IS NOT NULL THEN 'DISPATCHED' ELSE 'EXHAUSTED' END::retry_phase,
  s.failure_cause, 'one of many', s.terminated_at, child.id, child.created_at
FROM sessions s LEFT JOIN sessions child ON child.parent_session_id = s.id
WHERE s.retry_decided AND s.id >= ${NTH('$1::int')} AND s.id < ${NTH('$2::int')}`

const CHAINS = `
SELECT refresh_chains(ARRAY(SELECT id FROM sessions
  WHERE id >= ${NTH('$1::int')} AND id < ${NTH('$2::int')} AND attempt = 1))`
