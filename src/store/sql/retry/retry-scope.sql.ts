import type { RetryScope } from '../../../domain/retry/policy/scope.ts'
import type { Queryable } from '../../database.ts'

/** The scope id of the cluster, which has no row of its own. */
export const CLUSTER_ID = '00000000-0000-0000-0000-000000000000'

const SQL: Readonly<Record<Exclude<RetryScope, 'CLUSTER'>, string>> = {
  DOMAIN: `SELECT id FROM domains WHERE name = $1 AND $2::uuid IS NULL`,
  PROJECT: `SELECT id FROM projects WHERE name = $1 AND ($2::uuid IS NULL OR id = $2)`,
}

/** The scope's id by its name; undefined if the viewer may not see it. */
export async function findScopeId(
  db: Queryable,
  scope: Exclude<RetryScope, 'CLUSTER'>,
  name: string,
  visibleProjectId: string | null,
): Promise<string | undefined> {
  return (await db.query<{ id: string }>(SQL[scope], [name, visibleProjectId])).rows[0]?.id
}
