import type { Queryable } from '../../database.ts'
import { SPEC_FIELDS, type DeploymentSpec } from './deployment-spec.sql.ts'

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

/** One page per deployment, oldest first. */
const REVISION_PAGE_SQL = `
SELECT ${COLUMNS} FROM unnest($1::uuid[]) AS i(deployment_id)
CROSS JOIN LATERAL (
  SELECT * FROM deployment_revisions v WHERE v.deployment_id = i.deployment_id AND v.revision > $2::int
  ORDER BY v.revision LIMIT $3
) v ORDER BY v.deployment_id, v.revision`

export async function readRevisionPages(
  db: Queryable,
  deploymentIds: readonly string[],
  after: string,
  limit: number,
): Promise<RevisionRow[]> {
  const { rows } = await db.query<RevisionRow>(REVISION_PAGE_SQL, [deploymentIds, after, limit])
  return rows
}
