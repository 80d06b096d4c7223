import type { Queryable } from '../../database.ts'

export interface PreviewSource {
  id: string
  retryCount: number
  uncountedRetries: number
  statusReason: string | null
  delayBeforeMs: number | null
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  retryPolicy: unknown
}

const SQL = `
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
  return (await db.query<PreviewSource>(SQL, [sessionId, visibleProjectId])).rows[0]
}
