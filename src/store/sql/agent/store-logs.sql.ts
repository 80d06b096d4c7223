import type { LogPiece } from '../../../domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_CHUNK_BYTES_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

/** The kept text, and one more piece that says it was cut. */
const STREAM_END_MAX = LOG_BYTES_PER_KERNEL_MAX + LOG_CHUNK_BYTES_MAX

/**
 * A piece that is there already (sent again after a lost answer) changes nothing; nor does a piece of a kernel that
 * does not belong to the agent, was never told to start, or is known to be gone. Streams start again with each
 * assignment; earlier assignments' text is kept. Indexes: both primary keys.
 */
const SQL = `
INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
SELECT "kernelId", "assignment", "stream", "offset", "bytes", "text", "at"
FROM json_to_recordset($1::json) AS l("kernelId" uuid, "assignment" int, "stream" log_stream, "offset" bigint, "bytes" int,
  "text" text, "at" timestamptz)
WHERE "offset" + "bytes" <= $3 AND EXISTS (SELECT FROM kernels k
  WHERE k.id = l."kernelId" AND k.agent_id = $2 AND NOT k.confirmed_gone AND (l."assignment" < k.assignment
    OR l."assignment" = k.assignment AND k.status NOT IN ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED')))
ON CONFLICT DO NOTHING`

export async function storeLogs(db: Queryable, agentId: string, pieces: readonly LogPiece[]): Promise<void> {
  if (pieces.length > 0) await db.query(SQL, [JSON.stringify(pieces), agentId, STREAM_END_MAX])
}
