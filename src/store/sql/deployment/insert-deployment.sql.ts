import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'
import { SPEC_COLUMNS, specSelect, type DeploymentSpec } from './deployment-spec.sql.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'

export interface NewDeployment {
  id: string
  projectId: string
  userId: string | null
  creationId: string
  /** Of what was asked for; null without a creation id of the client's. */
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
 * The number of a project's deployments that are not destroyed; it stays correct until the transaction ends. Index:
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
WITH inserted AS (
  INSERT INTO deployments (id, project_id, user_id, creation_id, name, replicas, min_healthy, max_surge, created_by,
    creation_digest)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $12)
  ON CONFLICT DO NOTHING RETURNING id, project_id, replicas
), spec AS (${specSelect('$10')}
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

/** Whether it was inserted. */
export async function insertDeployment(tx: Queryable, deployment: NewDeployment): Promise<boolean> {
  const { id, projectId, userId, creationId, creationDigest, name, replicas, minHealthy, maxSurge, actor, spec } =
    deployment
  const owner = [id, projectId, userId, creationId, name]
  const sizes = [replicas, minHealthy, maxSurge]
  const values = [...owner, ...sizes, actor.name, JSON.stringify(spec), JSON.stringify(actor), creationDigest]
  return (await tx.query(INSERT_SQL, values)).rows.length === 1
}

const EXISTING_SQL = `
SELECT id, creation_digest AS "creationDigest" FROM deployments WHERE project_id = $1 AND creation_id = $2`

export interface KnownDeployment {
  id: string
  /** Null for those created by releases that stored none. */
  creationDigest: string | null
}

/** Undefined if there is none with this creation id. */
export async function findDeploymentByCreationId(
  db: Queryable,
  key: { projectId: string; creationId: string },
): Promise<KnownDeployment | undefined> {
  return (await db.query<KnownDeployment>(EXISTING_SQL, [key.projectId, key.creationId])).rows[0]
}
