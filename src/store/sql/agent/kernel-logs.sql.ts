import type { LogText } from '../../../domain/agent/join-chunks.ts'
import type { LogPiece } from '../../../domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_CHUNK_BYTES_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

export interface LogPieceRow extends LogText {
  kernelId: string
}

/** Where a page of pieces begins, and how much it has at most. */
export interface LogWindow {
  /** Pieces behind this one, decimal; 0 for the beginning. */
  after: string
  /** Only those before this one; null for none. */
  before: string | null
  /** From the end of that, rather than from its beginning. */
  backward: boolean
  /** Only those that arrived then or later; null for all. */
  since?: Date | null
  piecesMax: number
  /** One more piece is read than fits in here. */
  bytesMax: number
}

/**
 * Pieces of each kernel, oldest first. Those that are looked at are bounded by their number, those whose text is read by
 * its size as well. Index: kernel_logs(kernel_id, id), in either direction. What arrived since a time follows the last one
 * that arrived before it, which is looked for from the end.
 */
function statementFor(direction: 'ASC' | 'DESC'): string {
  return `
SELECT l.kernel_id AS "kernelId", l.id::text AS "firstId", l.id::text AS id, l.assignment, l.stream,
  l."offset"::float8 AS "offset", l.bytes, l.text, l.at
FROM unnest($1::uuid[]) AS kernel(id)
CROSS JOIN LATERAL (
  SELECT near.*, sum(near.bytes) OVER (ORDER BY near.id ${direction}) - near.bytes AS before_it
  FROM (
    SELECT * FROM kernel_logs WHERE kernel_id = kernel.id AND id > greatest($2::int8, (
      SELECT old.id FROM kernel_logs old
      WHERE $6::timestamptz IS NOT NULL AND old.kernel_id = kernel.id AND old.at < $6 ORDER BY old.id DESC LIMIT 1
    )) AND ($3::int8 IS NULL OR id < $3)
    ORDER BY id ${direction} LIMIT $4
  ) near
) l
WHERE l.before_it <= $5
ORDER BY l.kernel_id, l.id`
}

const FORWARD_SQL = statementFor('ASC')
const BACKWARD_SQL = statementFor('DESC')

export async function readKernelLogs(
  db: Queryable,
  kernelIds: readonly string[],
  { after, before, backward, piecesMax, bytesMax, since = null }: LogWindow,
): Promise<LogPieceRow[]> {
  const values = [kernelIds, after, before, piecesMax, bytesMax, since]
  const { rows } = backward
    ? await db.query<LogPieceRow>(BACKWARD_SQL, values)
    : await db.query<LogPieceRow>(FORWARD_SQL, values)
  return rows
}

const COUNT_SQL = `
SELECT kernel_id AS id, count(*) AS count FROM kernel_logs WHERE kernel_id = ANY($1::uuid[]) GROUP BY kernel_id`

export async function countKernelLogs(db: Queryable, kernelIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [kernelIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}

/** A backward probe of kernel_logs(kernel_id, id) for each kernel. A kernel that does not exist any more has ended. */
const READ_LOG_ENDS_SQL = `
SELECT followed.id AS "kernelId",
  coalesce((SELECT max(l.id) FROM kernel_logs l WHERE l.kernel_id = followed.id), 0) || ' '
    || coalesce(k.status IN ('TERMINATED', 'ERROR', 'CANCELLED'), true) AS end
FROM unnest($1::uuid[]) AS followed(id) LEFT JOIN kernels k ON k.id = followed.id`

/** A text for each kernel that changes when its log grows or the kernel ends. */
export async function readLogEnds(
  db: Queryable,
  kernelIds: readonly string[],
): Promise<{ kernelId: string; end: string }[]> {
  return (await db.query<{ kernelId: string; end: string }>(READ_LOG_ENDS_SQL, [kernelIds])).rows
}

/** The kept text, and one more piece that says it was cut. */
const STREAM_END_MAX = LOG_BYTES_PER_KERNEL_MAX + LOG_CHUNK_BYTES_MAX

/**
 * A piece that is there already (sent again after a lost answer) changes nothing; nor does a piece of a kernel that
 * does not belong to the agent, was never told to start, or is known to be gone. Streams start again with each
 * assignment; earlier assignments' text is kept. Indexes: both primary keys.
 */
const STORE_LOGS_SQL = `
INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
SELECT "kernelId", "assignment", "stream", "offset", "bytes", "text", "at"
FROM json_to_recordset($1::json) AS l("kernelId" uuid, "assignment" int, "stream" log_stream, "offset" bigint, "bytes" int,
  "text" text, "at" timestamptz)
WHERE "offset" + "bytes" <= $3 AND EXISTS (SELECT FROM kernels k
  WHERE k.id = l."kernelId" AND k.agent_id = $2 AND NOT k.confirmed_gone AND (l."assignment" < k.assignment
    OR l."assignment" = k.assignment AND k.status NOT IN ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED')))
ON CONFLICT DO NOTHING`

export async function storeLogs(db: Queryable, agentId: string, pieces: readonly LogPiece[]): Promise<void> {
  if (pieces.length > 0) await db.query(STORE_LOGS_SQL, [JSON.stringify(pieces), agentId, STREAM_END_MAX])
}
