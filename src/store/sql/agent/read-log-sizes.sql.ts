import type { Queryable } from '../../database.ts'
import { LOG_HEAD_BYTES_PER_STREAM_MAX } from '../../../domain/limits.ts'

export interface LogSize {
  kernelId: string
  bytes: number
  truncated: boolean
}

/**
 * Of each kernel: how much output is kept, and whether some was left out. The ends of its streams tell the first, and
 * the note that stands where something is left out, right behind the head of a stream, the second; it counts as one
 * byte, of which no text has more than three. Two probes for each stream of each assignment.
 * Index: kernel_logs(kernel_id, assignment, stream, offset).
 */
const SQL = `
SELECT k.id AS "kernelId", coalesce(sum(last.ends), 0)::float8 AS bytes, coalesce(bool_or(cut.found), false) AS truncated
FROM kernels k
CROSS JOIN LATERAL generate_series(0, k.assignment) AS turn(assignment)
CROSS JOIN unnest(enum_range(NULL::log_stream)) AS own(stream)
LEFT JOIN LATERAL (
  SELECT l."offset" + l.bytes AS ends FROM kernel_logs l
  WHERE l.kernel_id = k.id AND l.assignment = turn.assignment AND l.stream = own.stream ORDER BY l."offset" DESC LIMIT 1
) last ON true
LEFT JOIN LATERAL (
  SELECT true AS found FROM kernel_logs l
  WHERE l.kernel_id = k.id AND l.assignment = turn.assignment AND l.stream = own.stream AND l."offset" = $2
    AND l.bytes = 1 AND octet_length(l.text) > 3
) cut ON true
WHERE k.id = ANY($1::uuid[])
GROUP BY k.id`

export async function readLogSizes(db: Queryable, kernelIds: readonly string[]): Promise<LogSize[]> {
  return (await db.query<LogSize>(SQL, [kernelIds, LOG_HEAD_BYTES_PER_STREAM_MAX])).rows
}
