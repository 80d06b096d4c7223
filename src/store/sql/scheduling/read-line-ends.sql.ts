import type { HoldReason } from '../../../domain/session/causes.ts'
import type { Queryable } from '../../database.ts'

/** Index: retry_decisions_held, one probe per line. */
const SQL = `
SELECT i.project_id AS "projectId", i.reason, line.ends AS "endsInMs"
FROM unnest($1::uuid[], $2::hold_reason[]) AS i(project_id, reason), LATERAL (
  SELECT greatest(0, extract(epoch FROM d.ready_at - reprise_clock()) * 1000)::float8 AS ends FROM retry_decisions d
  WHERE d.phase = 'HELD' AND d.project_id = i.project_id AND d.hold_reason = i.reason
  ORDER BY d.ready_at DESC LIMIT 1) AS line`

export interface Line {
  projectId: string
  reason: HoldReason
}

/** When the last retry of each line of held retries is due, in ms from now; lines that do not exist are missing. */
export async function readLineEnds(tx: Queryable, lines: readonly Line[]): Promise<(Line & { endsInMs: number })[]> {
  if (lines.length === 0) return []
  const columns = [lines.map(({ projectId }) => projectId), lines.map(({ reason }) => reason)]
  return (await tx.query<Line & { endsInMs: number }>(SQL, columns)).rows
}
