import type { DeploymentHandlerName } from '../../../domain/deployment/handlers.ts'
import type { DeploymentStatus } from '../../../domain/deployment/statuses.ts'
import type { Queryable } from '../../database.ts'

/** A deployment that a handler holds until its transaction ends. */
export interface ClaimedDeployment {
  id: string
  status: DeploymentStatus
  statusReason: string | null
  projectId: string
  userId: string | null
  name: string
  replicas: number
  minHealthy: number | null
  maxSurge: number | null
  revision: number
  /** Consecutive failed routes. */
  failures: number
  /** Time until the next route may be started; 0 for now. */
  nextRouteInMs: number
  /** Time from the last failure until then. */
  backoffMs: number
  inStatusMs: number
  /** The number of live routes, and what is wrong with one of them; read only for handlers that need it. */
  live: number
  fault: string | null
}

const LIVE = `r.status IN ('PROVISIONING', 'DEGRADED', 'HEALTHY', 'UNHEALTHY')`

const LIVE_COUNT = `(SELECT count(*) FROM routes r WHERE r.deployment_id = d.id AND ${LIVE})`

/** A live route of another revision, or one that has been unhealthy for longer than it is given to recover. */
const FAULT = `(
  SELECT CASE WHEN r.revision <> d.revision THEN 'a route of revision ' || r.revision || ' is left'
    ELSE 'a route is ' || r.status END
  FROM routes r
  WHERE r.deployment_id = d.id AND ${LIVE} AND (r.revision <> d.revision
    OR r.status <> 'HEALTHY' AND r.status_changed_at < reprise_now() - (SELECT make_interval(secs => v.evict_after_ms / 1000.0)
      FROM deployment_revisions v WHERE v.deployment_id = r.deployment_id AND v.revision = r.revision))
  LIMIT 1)`

/** What a handler reads beyond the status; deployments that need nothing from it are not claimed. */
const ASKED: Readonly<Partial<Record<DeploymentHandlerName, { live?: string; fault?: string; need: string }>>> = {
  'check-replica-deployment': { live: LIVE_COUNT, need: `${LIVE_COUNT} <> d.replicas` },
  'reconcile-deployment': { fault: FAULT, need: `${FAULT} IS NOT NULL` },
}

/**
 * Deployments for one handler, in id order after the last one of the previous batch, so that those that wait for long
 * do not block others. Those that another server holds are skipped.
 * Indexes: deployments_active, routes_of_deployment.
 */
function statementFor(handler: DeploymentHandlerName): string {
  const { live = '0', fault = 'NULL', need = 'true' } = ASKED[handler] ?? {}
  return `
SELECT d.id, d.status, d.status_reason AS "statusReason", d.project_id AS "projectId", d.user_id AS "userId", d.name,
  d.replicas, d.min_healthy AS "minHealthy", d.max_surge AS "maxSurge", d.revision, d.failures,
  greatest(0, ceil(extract(epoch FROM coalesce(d.next_route_at, reprise_now()) - reprise_now()) * 1000))::float8 AS "nextRouteInMs",
  (extract(epoch FROM d.next_route_at - d.failed_at) * 1000)::float8 AS "backoffMs",
  (extract(epoch FROM reprise_now() - d.status_changed_at) * 1000)::float8 AS "inStatusMs",
  ${live} AS live, ${fault} AS fault
FROM deployments d
WHERE d.status = ANY($1::deployment_status[]) AND d.id > $2 AND ${need}
ORDER BY d.id LIMIT $3
FOR NO KEY UPDATE OF d SKIP LOCKED`
}

export async function claimDeployments(
  tx: Queryable,
  handler: { name: DeploymentHandlerName; statusIn: readonly DeploymentStatus[] },
  page: { after: string; limit: number },
): Promise<ClaimedDeployment[]> {
  const values = [handler.statusIn, page.after, page.limit]
  return (await tx.query<ClaimedDeployment>(statementFor(handler.name), values)).rows
}
