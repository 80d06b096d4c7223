import type { LogPiece } from '../../domain/agent/protocol.ts'
import type { Queryable } from '../database.ts'

/**
 * A piece that is there already (sent again after a lost answer) changes nothing. Streams begin anew with each
 * assignment: what an earlier one wrote stays beside them.
 */
const LOGS_SQL = `
INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
SELECT "kernelId", "assignment", "stream", "offset", "bytes", "text", "at"
FROM json_to_recordset($1::json) AS l("kernelId" uuid, "assignment" int, "stream" log_stream, "offset" bigint, "bytes" int,
  "text" text, "at" timestamptz)
WHERE EXISTS (SELECT FROM kernels k WHERE k.id = l."kernelId" AND k.agent_id = $2 AND l."assignment" <= k.assignment)
ON CONFLICT DO NOTHING`

export async function storeLogs(db: Queryable, agentId: string, pieces: readonly LogPiece[]): Promise<void> {
  if (pieces.length > 0) await db.query(LOGS_SQL, [JSON.stringify(pieces), agentId])
}
