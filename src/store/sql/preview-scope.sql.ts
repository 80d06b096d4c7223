import type { Queryable } from '../database.ts'

export interface PreviewSource {
  id: string
  retryCount: number
  uncountedRetries: number
  statusReason: string | null
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  retryPolicy: unknown
}

const SQL = `
SELECT id, retry_count AS "retryCount", uncounted_retries AS "uncountedRetries", status_reason AS "statusReason",
  resource_slots AS "resourceSlots", batch_timeout AS "batchTimeout", retry_policy AS "retryPolicy"
FROM sessions WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)`

export async function readPreviewSource(
  db: Queryable,
  sessionId: string,
  visibleProjectId: string | null,
): Promise<PreviewSource | undefined> {
  return (await db.query<PreviewSource>(SQL, [sessionId, visibleProjectId])).rows[0]
}
