import type { AttemptSpec } from '../../../domain/chain/spec-difference.ts'
import type { Queryable } from '../../database.ts'
import { specOf } from '../chain/chain-timelines.sql.ts'

export interface ComparedRow {
  id: string
  spec: AttemptSpec
  /** The attempt before; null for the first one. */
  parentId: string | null
  /** Its first kernel; null if it has none. */
  kernelId: string | null
}

const READ_SQL = `
SELECT s.id, ${specOf('s', [`'imageDigest', s.image_digest`])} AS spec, s.parent_session_id AS "parentId",
  (SELECT k.id FROM kernels k WHERE k.session_id = s.id ORDER BY k.role, k.index LIMIT 1) AS "kernelId"
FROM sessions s WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)`

/** Reads sessions that the viewer sees. */
export async function readComparedSessions(
  db: Queryable,
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, ComparedRow>> {
  const { rows } = await db.query<ComparedRow>(READ_SQL, [ids, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row]))
}

/** The newest other chain of the same name that has succeeded. Index: chains_by_name. */
const LAST_SUCCESS_SQL = `
SELECT s.id AS "sessionId", success.id AS "successId" FROM sessions s
CROSS JOIN LATERAL (
  SELECT c.tail_id AS id FROM chains c
  WHERE c.project_id = s.project_id AND c.state = 'SUCCEEDED' AND NOT c.replica AND c.name = s.name AND c.tail_id <> s.id
  ORDER BY c.chain_id DESC LIMIT 1
) AS success
WHERE s.id = ANY($1::uuid[])`

/** Reads, by session, the last other session of its name that has succeeded. */
export async function readLastSuccesses(db: Queryable, sessionIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ sessionId: string; successId: string }>(LAST_SUCCESS_SQL, [sessionIds])
  return new Map(rows.map(({ sessionId, successId }) => [sessionId, successId]))
}
