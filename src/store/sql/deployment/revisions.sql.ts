import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'
import type { SerialWindow } from '../session/scheduling-history.sql.ts'
import { type DeploymentSpec, SPEC_COLUMNS, SPEC_FIELDS, specSelect } from './change-deployment.sql.ts'

export interface RevisionRow extends DeploymentSpec {
  /** The revision's number in decimal, which gives the order. */
  id: string
  deploymentId: string
  revision: number
  createdBy: string | null
  createdAt: Date
}

const COLUMNS = `v.revision::text AS id, v.deployment_id AS "deploymentId", v.revision,
  ${SPEC_FIELDS}, v.created_by AS "createdBy", v.created_at AS "createdAt"`

export interface RevisionKey {
  deploymentId: string
  revision: number
}

const READ_SQL = `
SELECT ${COLUMNS} FROM unnest($1::uuid[], $2::int[]) AS i(deployment_id, revision)
JOIN deployment_revisions v ON v.deployment_id = i.deployment_id AND v.revision = i.revision`

export async function readRevisions(db: Queryable, keys: readonly RevisionKey[]): Promise<RevisionRow[]> {
  const values = [keys.map(({ deploymentId }) => deploymentId), keys.map(({ revision }) => revision)]
  return (await db.query<RevisionRow>(READ_SQL, values)).rows
}

/** Reads one page per deployment, from either end. */
const pageStatement = (order: 'ASC' | 'DESC') => `
SELECT ${COLUMNS} FROM unnest($1::uuid[]) AS i(deployment_id)
CROSS JOIN LATERAL (
  SELECT * FROM deployment_revisions v WHERE v.deployment_id = i.deployment_id AND v.revision > $2::int8
    AND v.revision < coalesce($4::int8, 9223372036854775807)
  ORDER BY v.revision ${order} LIMIT $3
) v ORDER BY v.deployment_id, v.revision ${order}`
const FORWARD_SQL = pageStatement('ASC')
const BACKWARD_SQL = pageStatement('DESC')

export async function readRevisionPages(
  db: Queryable,
  deploymentIds: readonly string[],
  { after, before, backward, limit }: SerialWindow,
): Promise<RevisionRow[]> {
  const values = [deploymentIds, after, limit, before]
  return (await db.query<RevisionRow>(backward ? BACKWARD_SQL : FORWARD_SQL, values)).rows
}

/** Index: the primary key of revisions. */
const COUNT_REVISIONS_SQL = `
SELECT deployment_id AS id, count(*) AS count FROM deployment_revisions
WHERE deployment_id = ANY($1::uuid[]) GROUP BY deployment_id`

/** Counts the revisions that retention has left; the number of a deployment's newest revision may be higher. */
export async function countRevisions(db: Queryable, deploymentIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_REVISIONS_SQL, [deploymentIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}

/** A new revision resets the failure count, which belonged to the previous one. */
const INSERT_REVISION_SQL = `
WITH spec AS (${specSelect('$3')}
), updated AS (
  UPDATE deployments d SET revision = revision + 1, labels = spec.labels, failures = 0, next_route_at = NULL
  FROM spec WHERE d.id = $1
  RETURNING d.id, d.project_id, d.revision
), revisions AS (
  INSERT INTO deployment_revisions (deployment_id, revision, ${SPEC_COLUMNS}, created_by)
  SELECT updated.id, updated.revision, spec.*, $2 FROM updated, spec
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT 'deployment.updated', id, project_id,
    ${eventData<DeploymentEventData['deployment.updated']>({ from: 'revision - 1', to: 'revision' })} FROM updated
)
SELECT revision FROM updated`

/** Adds a revision to a deployment that the transaction has locked, and returns its number. */
export async function insertRevision(
  tx: Queryable,
  revision: { deploymentId: string; actor: string; spec: DeploymentSpec },
): Promise<number> {
  const values = [revision.deploymentId, revision.actor, JSON.stringify(revision.spec)]
  return (await tx.query<{ revision: number }>(INSERT_REVISION_SQL, values)).rows[0]!.revision
}

const READ_REVISION_SQL = `
SELECT ${SPEC_FIELDS} FROM deployment_revisions v WHERE v.deployment_id = $1 AND v.revision = $2`

export async function readRevision(db: Queryable, deploymentId: string, revision: number): Promise<DeploymentSpec> {
  const { rows } = await db.query<DeploymentSpec>(READ_REVISION_SQL, [deploymentId, revision])
  return rows[0]!
}

/** The part of a revision that its sessions run. */
export interface RevisionSpec extends Pick<
  DeploymentSpec,
  | 'resourceGroup'
  | 'image'
  | 'command'
  | 'environ'
  | 'secretEnviron'
  | 'resourceSlots'
  | 'gpuNeed'
  | 'priority'
  | 'labels'
  | 'agentLabels'
  | 'mounts'
  | 'portVariable'
> {
  deploymentId: string
}

const READ_REVISION_SPECS_SQL = `
SELECT v.deployment_id AS "deploymentId", v.resource_group AS "resourceGroup", v.image, v.command, v.environ,
  v.secret_environ AS "secretEnviron",
  v.resource_slots AS "resourceSlots", v.gpu_need AS "gpuNeed", v.priority, v.labels, v.agent_labels AS "agentLabels", v.mounts,
  v.port_variable AS "portVariable"
FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = d.revision
WHERE d.id = ANY($1::uuid[])`

/** Reads the present revision of each deployment, by deployment id. */
export async function readRevisionSpecs(
  tx: Queryable,
  deploymentIds: readonly string[],
): Promise<Map<string, RevisionSpec>> {
  const { rows } = await tx.query<RevisionSpec>(READ_REVISION_SPECS_SQL, [deploymentIds])
  return new Map(rows.map((row) => [row.deploymentId, row]))
}

interface Outlook {
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
