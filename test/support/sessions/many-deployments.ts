import type { Database } from '../../../src/store/database.ts'
import { withoutTriggers } from './many-chains.ts'
import { DEFAULT_PROJECT_ID } from '../servers/test-server.ts'

export interface ManyDeployments {
  living: number
  /** HEALTHY ones of each that lives. */
  routes: number
  /** TERMINATED ones of each, and of each that was destroyed. */
  ended: number
  destroyed: number
}

/** Deployments of three revisions, in the last of which all routes are; checks are due in a minute. */
export async function addManyDeployments(db: Database, many: ManyDeployments): Promise<void> {
  const { living, routes, ended, destroyed } = many
  const steps: [string, unknown[]][] = [
    ...DEPLOYMENTS.map((statement): [string, unknown[]] => [statement, [living, destroyed, DEFAULT_PROJECT_ID]]),
    [ROUTES, [routes, ended]],
    ...OF_ROUTES.map((statement): [string, unknown[]] => [statement, []]),
  ]
  for (const [statement, values] of steps) {
    await withoutTriggers(db, statement, values)
    // Statistics for planning the next statement. Each statement commits, because events wait for long transactions in
    // any database of the server.
    await db.query('ANALYZE')
  }
  await db.query('VACUUM')
}

const ID = (space: string, n: string) => `('00000000-0000-7000-${space}-' || lpad(to_hex(${n}), 12, '0'))::uuid`

const DEPLOYMENTS = [
  `INSERT INTO deployments (id, project_id, creation_id, name, status, replicas, revision, created_at, destroyed_at)
   SELECT ${ID('a000', 'n')}, $3::uuid, n::text, 'service-' || n,
     CASE WHEN n > $1::int THEN 'DESTROYED' ELSE 'READY' END::deployment_status, 0, 3, at,
     CASE WHEN n > $1::int THEN at END
   FROM generate_series(1, $1::int + $2::int) AS n, LATERAL (SELECT now() - make_interval(mins => n) AS at) AS it`,
  `INSERT INTO deployment_revisions (deployment_id, revision, resource_group, command, priority, port_variable,
     health_path, health_interval_ms, health_timeout_ms, healthy_threshold, unhealthy_threshold, initial_delay_ms,
     stale_after_ms, start_timeout_ms, evict_after_ms, drain_ms)
   SELECT id, n, 'default', '{serve}', 10, 'PORT', '/', 60000, 2000, 1, 3, 0, 1000000, 300000, 10000, 2000
   FROM deployments, generate_series(1, 3) AS n
   WHERE $1::int + $2::int > 0 AND $3::uuid IS NOT NULL`,
]

const ROUTES = `
INSERT INTO routes (id, deployment_id, revision, session_id, status, host, port, successes, last_check_at, next_check_at,
  published_at, first_healthy_at, created_at, status_changed_at, terminated_at)
SELECT ${ID('b000', 'n')}, deployment_id, 3, ${ID('c000', 'n')},
  CASE WHEN lives THEN 'HEALTHY' ELSE 'TERMINATED' END::route_status, '127.0.0.1', 80, 5, now(),
  CASE WHEN lives THEN now() + interval '1 minute' END, CASE WHEN lives THEN now() END, at, at, at,
  CASE WHEN NOT lives THEN at END
FROM (SELECT d.id AS deployment_id, place <= $1::int AS lives, row_number() OVER ()::int AS n,
    now() - interval '1 hour' AS at
  FROM deployments d, generate_series(1, $1::int + $2::int) AS place
  WHERE d.status <> 'DESTROYED' OR place > $1::int) AS it`

const OF_ROUTES = [
  `UPDATE deployments d SET replicas = (SELECT count(*) FROM routes r WHERE r.deployment_id = d.id AND r.status = 'HEALTHY')`,
  `INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, cluster_mode,
     cluster_size, priority, status, result, chain_id, attempt, retry_policy, retry_decided, started_at, terminated_at)
   SELECT r.session_id, d.project_id, 'default', r.id::text, d.name, 'INFERENCE', '{serve}', 'SINGLE_NODE', 1, 10,
     CASE WHEN r.terminated_at IS NULL THEN 'RUNNING' ELSE 'TERMINATED' END::session_status, 'UNDEFINED', r.session_id, 1,
     '{"maxRetries": 0}', true, r.created_at, r.terminated_at
   FROM routes r JOIN deployments d ON d.id = r.deployment_id`,
  `INSERT INTO agents (id, name, resource_group, address, version, status, instance_id)
   SELECT id, 'serves', 'default', '127.0.0.1', '0', 'ALIVE', id FROM (SELECT ${ID('d000', '1')} AS id) AS it`,
  `INSERT INTO kernels (id, session_id, role, index, agent_id, assignment, status, resource_slots, slots_held, confirmed_gone,
     port, started_at, terminated_at)
   SELECT gen_random_uuid(), id, 'main', 1, ${ID('d000', '1')}, 1, status::text::kernel_status, '{"cpu": "1"}',
     terminated_at IS NULL, terminated_at IS NOT NULL, 80, started_at, terminated_at FROM sessions`,
  `SELECT refresh_chains(ARRAY(SELECT id FROM sessions))`,
  `INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result)
   SELECT 'ROUTE'::history_entity, id, 'provisioning-route', 'PROVISIONING', 'DEGRADED', 'SUCCESS'::scheduling_result FROM routes
   UNION ALL SELECT 'DEPLOYMENT', id, 'scaling-deployment', 'SCALING', 'READY', 'SUCCESS' FROM deployments`,
]
