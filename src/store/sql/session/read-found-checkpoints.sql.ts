import type { FoundCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { Queryable } from '../../database.ts'

/** What a session found of the checkpoint of earlier attempts. */
export interface FoundCheckpointRow {
  sessionId: string
  state: FoundCheckpoint['state']
  fromAttempt: number | null
  store: string | null
  bytes: number | null
  publishedAt: Date | null
  /** Why it is missing, in words. */
  note: string | null
}

const SQL = `
SELECT session_id AS "sessionId", state, from_attempt AS "fromAttempt", store, bytes, published_at AS "publishedAt", note
FROM session_checkpoints WHERE session_id = ANY($1::uuid[])`

/** Sessions that found nothing, because there was nothing, are not among the rows. */
export async function readFoundCheckpoints(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<FoundCheckpointRow[]> {
  return (await db.query<FoundCheckpointRow>(SQL, [sessionIds])).rows
}
