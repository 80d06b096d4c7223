import type { GpuNeed } from '../../../domain/gpu.ts'
import type { Mount } from '../../../domain/session/mounts.ts'
import type { SealedVariable } from '../../../domain/session/kernel-environment.ts'
import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'
import type { RolloutSettings } from '../../../domain/deployment/plan-replicas.ts'
import type { DeploymentStatus } from '../../../domain/deployment/lifecycle.ts'

/** The spec shared by all routes of a revision; times in milliseconds. */
export interface DeploymentSpec {
  resourceGroup: string
  image: string | null
  command: string[]
  environ: { name: string; value: string }[]
  secretEnviron: SealedVariable[]
  resourceSlots: Record<string, string>
  /** What its GPUs must be like; null if any will do. */
  gpuNeed: GpuNeed | null
  priority: number
  labels: Record<string, string>
  /** { key: value }: an agent must have all of these labels. */
  agentLabels: Record<string, string>
  /** Volumes that an agent must offer to its project. */
  mounts: Mount[]
  portVariable: string
  healthPath: string
  healthIntervalMs: number
  healthTimeoutMs: number
  healthyThreshold: number
  unhealthyThreshold: number
  initialDelayMs: number
  staleAfterMs: number
  startTimeoutMs: number
  evictAfterMs: number
  drainMs: number
}

export const SPEC_COLUMNS = `resource_group, image, command, environ, secret_environ, resource_slots, gpu_need, priority, labels, agent_labels,
  mounts, port_variable, health_path, health_interval_ms, health_timeout_ms, healthy_threshold, unhealthy_threshold,
  initial_delay_ms, stale_after_ms, start_timeout_ms, evict_after_ms, drain_ms`

/** The fields of a spec, selected from `deployment_revisions v`. */
export const SPEC_FIELDS = `v.resource_group AS "resourceGroup", v.image, to_json(v.command) AS command, v.environ,
  v.secret_environ AS "secretEnviron",
  v.resource_slots AS "resourceSlots", v.gpu_need AS "gpuNeed", v.priority, v.labels, v.agent_labels AS "agentLabels", v.mounts,
  v.port_variable AS "portVariable", v.health_path AS "healthPath", v.health_interval_ms AS "healthIntervalMs",
  v.health_timeout_ms AS "healthTimeoutMs", v.healthy_threshold AS "healthyThreshold",
  v.unhealthy_threshold AS "unhealthyThreshold", v.initial_delay_ms AS "initialDelayMs",
  v.stale_after_ms AS "staleAfterMs", v.start_timeout_ms AS "startTimeoutMs", v.evict_after_ms AS "evictAfterMs",
  v.drain_ms AS "drainMs"`

/** Converts a spec from JSON to its columns, in their order. */
export function specSelect(parameter: string): string {
  return `SELECT i."resourceGroup" AS resource_group, i."image", i."command", i."environ",
    i."secretEnviron" AS secret_environ,
    i."resourceSlots" AS resource_slots, i."gpuNeed" AS gpu_need, i."priority", i."labels", i."agentLabels" AS agent_labels, i."mounts",
    i."portVariable" AS port_variable, i."healthPath" AS health_path, i."healthIntervalMs" AS health_interval_ms,
    i."healthTimeoutMs" AS health_timeout_ms, i."healthyThreshold" AS healthy_threshold,
    i."unhealthyThreshold" AS unhealthy_threshold, i."initialDelayMs" AS initial_delay_ms,
    i."staleAfterMs" AS stale_after_ms, i."startTimeoutMs" AS start_timeout_ms, i."evictAfterMs" AS evict_after_ms,
    i."drainMs" AS drain_ms
  FROM json_to_record(${parameter}::json) AS i(
    "resourceGroup" text, "image" text, "command" text[], "environ" jsonb, "secretEnviron" jsonb, "resourceSlots" jsonb, "gpuNeed" jsonb, "priority" smallint,
    "labels" jsonb, "agentLabels" jsonb, "mounts" jsonb, "portVariable" text, "healthPath" text, "healthIntervalMs" int,
    "healthTimeoutMs" int, "healthyThreshold" int, "unhealthyThreshold" int, "initialDelayMs" int,
    "staleAfterMs" int, "startTimeoutMs" int, "evictAfterMs" int, "drainMs" int)`
}

export interface NewDeployment {
  id: string
  projectId: string
  userId: string | null
  creationId: string
  /** Digest of the client's input; null if the client chose no creation id. */
  creationDigest: string | null
  name: string
  replicas: number
  minHealthy: number | null
  maxSurge: number | null
  actor: Actor
  spec: DeploymentSpec
}

/** Serialises counting a project's deployments and adding one. */
const COUNT_LOCK_SQL = `SELECT pg_advisory_xact_lock(hashtextextended('deployments of ' || $1::text, 0))`
const COUNT_SQL = `SELECT count(*) AS count FROM deployments WHERE project_id = $1 AND status <> 'DESTROYED'`

/**
 * Counts a project's deployments that are not destroyed; the number stays correct until the transaction ends. Index:
 * deployments_name.
 */
export async function countDeployments(tx: Queryable, projectId: string): Promise<number> {
  await tx.query(COUNT_LOCK_SQL, [projectId])
  return (await tx.query<{ count: number }>(COUNT_SQL, [projectId])).rows[0]!.count
}

/**
 * Inserts a deployment with its first revision, its event and the audit entry; nothing if its creation id or its name
 * is taken.
 */
const INSERT_SQL = `
WITH spec AS (${specSelect('$10')}
), inserted AS (
  INSERT INTO deployments (id, project_id, user_id, creation_id, name, replicas, min_healthy, max_surge, created_by,
    creation_digest, labels)
  SELECT $1::uuid, $2::uuid, $3::uuid, $4, $5, $6::int, $7::int, $8::int, $9, $12, spec.labels FROM spec
  ON CONFLICT DO NOTHING RETURNING id, project_id, replicas
), revisions AS (
  INSERT INTO deployment_revisions (deployment_id, revision, ${SPEC_COLUMNS}, created_by)
  SELECT inserted.id, 1, spec.*, $9 FROM inserted, spec
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT 'deployment.created', id, project_id,
    ${eventData<DeploymentEventData['deployment.created']>({ replicas: 'replicas', revision: '1' })} FROM inserted
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$11')}, 'deployment.create', project_id, jsonb_build_object('deploymentId', id, 'name', $5::text,
    'replicas', replicas) FROM inserted
)
SELECT id FROM inserted`

/** Returns whether the deployment was inserted. */
export async function insertDeployment(tx: Queryable, deployment: NewDeployment): Promise<boolean> {
  const { id, projectId, userId, creationId, creationDigest, name, replicas, minHealthy, maxSurge, actor, spec } =
    deployment
  const owner = [id, projectId, userId, creationId, name]
  const sizes = [replicas, minHealthy, maxSurge]
  const values = [...owner, ...sizes, actor.name, JSON.stringify(spec), JSON.stringify(actor), creationDigest]
  return (await tx.query(INSERT_SQL, values)).rows.length === 1
}

const NAMED_SQL = `SELECT id FROM deployments WHERE project_id = $1 AND name = $2 AND status <> 'DESTROYED'`

/** Returns the id of the deployment that has this name, among those that are not destroyed. */
export async function findDeploymentByName(
  db: Queryable,
  projectId: string,
  name: string,
): Promise<string | undefined> {
  return (await db.query<{ id: string }>(NAMED_SQL, [projectId, name])).rows[0]?.id
}

const EXISTING_SQL = `
SELECT id, creation_digest AS "creationDigest" FROM deployments WHERE project_id = $1 AND creation_id = $2`

export interface KnownDeployment {
  id: string
  /** Null for deployments of older releases, which stored none. */
  creationDigest: string | null
}

/** Returns undefined if there is none with this creation id. */
export async function findDeploymentByCreationId(
  db: Queryable,
  key: { projectId: string; creationId: string },
): Promise<KnownDeployment | undefined> {
  return (await db.query<KnownDeployment>(EXISTING_SQL, [key.projectId, key.creationId])).rows[0]
}

export interface LockedDeployment extends RolloutSettings {
  id: string
  projectId: string
  status: DeploymentStatus
  revision: number
}

const LOCK_SQL = `
SELECT id, project_id AS "projectId", status, revision, replicas, min_healthy AS "minHealthy", max_surge AS "maxSurge"
FROM deployments WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2) FOR NO KEY UPDATE`

/**
 * Returns undefined if the viewer sees no such deployment. Handlers skip a deployment while it is locked, and check it
 * again when woken.
 */
export async function lockDeployment(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<LockedDeployment | undefined> {
  return (await tx.query<LockedDeployment>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

/** The event has only the replicas: changes of other settings become visible with the next update. */
const SCALE_SQL = `
WITH scaled AS (
  UPDATE deployments SET replicas = $2, min_healthy = $3, max_surge = $4 WHERE id = $1 RETURNING id, project_id
)
INSERT INTO session_events (type, deployment_id, project_id, data)
SELECT 'deployment.scaled', id, project_id,
  ${eventData<DeploymentEventData['deployment.scaled']>({ from: '$5::int', to: '$2::int' })} FROM scaled
WHERE $5::int <> $2::int`

export async function scaleDeploymentRow(
  tx: Queryable,
  id: string,
  { replicas, minHealthy, maxSurge }: RolloutSettings,
  before: number,
): Promise<void> {
  await tx.query(SCALE_SQL, [id, replicas, minHealthy, maxSurge, before])
}

const DESTROY_SQL = `
WITH before AS (
  SELECT id, status FROM deployments WHERE id = $1
), moved AS (
  UPDATE deployments d SET status = 'DESTROYING', status_changed_at = reprise_now(), destroyed_by = $2, status_reason = $3
  FROM before WHERE d.id = before.id RETURNING d.id, d.project_id, before.status AS "from"
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT 'deployment.status_changed', id, project_id,
    ${eventData<DeploymentEventData['deployment.status_changed']>({ from: '"from"', to: `'DESTROYING'`, reason: '$3::text' })}
  FROM moved
)
INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
SELECT 'DEPLOYMENT', id, 'destroy-deployment', "from"::text, 'DESTROYING', 'SUCCESS', $3 FROM moved`

/** Destroys a deployment that the transaction has locked and that is not being destroyed yet. */
export async function destroyDeploymentRow(
  tx: Queryable,
  { id, actor, reason }: { id: string; actor: string; reason: string },
): Promise<void> {
  await tx.query(DESTROY_SQL, [id, actor, reason])
}
