import type { RetryScope } from '../../../domain/retry/policy/scope.ts'
import type { Queryable } from '../../database.ts'

/** The scope id of the cluster, which has no row of its own. */
export const CLUSTER_ID = '00000000-0000-0000-0000-000000000000'

const FIND_SCOPE_ID_SQL: Readonly<Record<Exclude<RetryScope, 'CLUSTER'>, string>> = {
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
  return (await db.query<{ id: string }>(FIND_SCOPE_ID_SQL[scope], [name, visibleProjectId])).rows[0]?.id
}

interface PreviewSource {
  id: string
  retryCount: number
  uncountedRetries: number
  statusReason: string | null
  delayBeforeMs: number | null
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  retryPolicy: unknown
}

const READ_PREVIEW_SOURCE_SQL = `
SELECT id, retry_count AS "retryCount", uncounted_retries AS "uncountedRetries", status_reason AS "statusReason",
  resource_slots AS "resourceSlots", batch_timeout AS "batchTimeout", retry_policy AS "retryPolicy",
  (SELECT before.delay_ms FROM retry_decisions before
    WHERE before.session_id = s.parent_session_id AND s.origin = 'AUTO_RETRY') AS "delayBeforeMs"
FROM sessions s WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)`

export async function readPreviewSource(
  db: Queryable,
  sessionId: string,
  visibleProjectId: string | null,
): Promise<PreviewSource | undefined> {
  return (await db.query<PreviewSource>(READ_PREVIEW_SOURCE_SQL, [sessionId, visibleProjectId])).rows[0]
}
