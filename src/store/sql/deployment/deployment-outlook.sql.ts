import type { Queryable } from '../../database.ts'

export interface Outlook {
  /** Whether there is anything to process at all. */
  any: boolean
  /** Time until work becomes due without any other change; null if none will. */
  nextInMs: number | null
}

/** Index: deployments_active. */
const DEPLOYMENTS_SQL = `
SELECT count(*) > 0 AS any, (extract(epoch FROM min(next_route_at)
  FILTER (WHERE status = 'SCALING' AND next_route_at > reprise_now()) - reprise_now()) * 1000)::float8 AS "nextInMs"
FROM deployments WHERE status <> 'DESTROYED'`

export async function readDueDeployments(db: Queryable): Promise<Outlook> {
  return (await db.query<Outlook>(DEPLOYMENTS_SQL)).rows[0]!
}

/**
 * Only a check changes a healthy route, so healthy routes, which are nearly all, are not read. Indexes: routes_active,
 * primary key.
 */
const ROUTES_SQL = `
SELECT EXISTS (SELECT FROM routes WHERE status <> 'TERMINATED') AS any,
  (SELECT extract(epoch FROM min(due.at) FILTER (WHERE due.at > reprise_now()) - reprise_now()) * 1000
   FROM routes r
   CROSS JOIN LATERAL (SELECT drain_ms, evict_after_ms, start_timeout_ms FROM deployment_revisions
     WHERE deployment_id = r.deployment_id AND revision = r.revision LIMIT 1) AS v
   CROSS JOIN LATERAL (SELECT CASE
     WHEN r.status = 'TERMINATING' THEN r.status_changed_at + make_interval(secs => v.drain_ms / 1000.0)
     WHEN r.status = 'UNHEALTHY' THEN r.status_changed_at + make_interval(secs => v.evict_after_ms / 1000.0)
     WHEN r.first_healthy_at IS NULL THEN r.created_at + make_interval(secs => v.start_timeout_ms / 1000.0) END AS at) AS due
   WHERE r.status IN ('PROVISIONING', 'DEGRADED', 'UNHEALTHY', 'TERMINATING', 'FAILED_TO_START'))::float8 AS "nextInMs"`

export async function readDueRoutes(db: Queryable): Promise<Outlook> {
  return (await db.query<Outlook>(ROUTES_SQL)).rows[0]!
}
