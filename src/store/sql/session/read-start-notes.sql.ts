import type { Queryable } from '../../database.ts'

/** Index: kernels_session_id_role_index_key. */
const SQL = `
SELECT DISTINCT ON (session_id) session_id AS "sessionId", note FROM kernels
WHERE session_id = ANY($1::uuid[]) AND note IS NOT NULL
ORDER BY session_id, role, "index"`

/** How far sessions are until they run, in the words of the agent of the first kernel that has any. */
export async function readStartNotes(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<{ sessionId: string; note: string }[]> {
  return (await db.query<{ sessionId: string; note: string }>(SQL, [sessionIds])).rows
}
