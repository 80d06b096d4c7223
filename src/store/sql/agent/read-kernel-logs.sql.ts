import type { Queryable } from '../../database.ts'

export interface LogChunkRow {
  kernelId: string
  /** The position within the kernel's logs in decimal, which gives the order. */
  id: string
  stream: 'STDOUT' | 'STDERR'
  text: string
  at: Date
}

/** The chunks that follow `after` (0 for the beginning), for each kernel. Index: kernel_logs(kernel_id, id). */
const SQL = `
SELECT l.kernel_id AS "kernelId", l.id::text AS id, l.stream, l.text, l.at
FROM unnest($1::uuid[]) AS kernel(id)
CROSS JOIN LATERAL (
  SELECT * FROM kernel_logs WHERE kernel_id = kernel.id AND id > $2::int8 ORDER BY id LIMIT $3
) l
ORDER BY l.kernel_id, l.id`

export async function readKernelLogs(
  db: Queryable,
  kernelIds: readonly string[],
  after: string,
  limit: number,
): Promise<LogChunkRow[]> {
  return (await db.query<LogChunkRow>(SQL, [kernelIds, after, limit])).rows
}

const COUNT_SQL = `
SELECT kernel_id AS id, count(*) AS count FROM kernel_logs WHERE kernel_id = ANY($1::uuid[]) GROUP BY kernel_id`

export async function countKernelLogs(db: Queryable, kernelIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [kernelIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
