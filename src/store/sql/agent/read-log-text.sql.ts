import type { Queryable } from '../../database.ts'

type Stream = 'STDOUT' | 'STDERR'

/** What a log is as a text, at one moment. */
export interface LogTextBounds {
  /** In UTF-8. */
  bytes: number
  /** The last piece, decimal; 0 if there is none. */
  lastId: string
}

/** The sizes of texts are known without reading them. 100,000 pieces: about 40 ms. Index: kernel_logs(kernel_id, id). */
const BOUNDS_SQL = `
SELECT coalesce(sum(octet_length(text)), 0)::float8 AS bytes, coalesce(max(id), 0)::text AS "lastId"
FROM kernel_logs WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2)`

/** Of one stream, or of both as they arrived. */
export async function readLogTextBounds(
  db: Queryable,
  kernelId: string,
  stream: Stream | null,
): Promise<LogTextBounds> {
  return (await db.query<LogTextBounds>(BOUNDS_SQL, [kernelId, stream])).rows[0]!
}

const SEEK_SQL = `
SELECT id::text AS id, begins::float8 AS begins FROM (
  SELECT id, sum(octet_length(text)) OVER (ORDER BY id) - octet_length(text) AS begins
  FROM kernel_logs WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2) AND id <= $4::int8
) piece
WHERE begins <= $3 ORDER BY begins DESC, id DESC LIMIT 1`

/** The piece in which a byte of the text lies, and the byte at which that piece begins. */
export async function seekLogText(
  db: Queryable,
  at: { kernelId: string; stream: Stream | null; byte: number; lastId: string },
): Promise<{ id: string; begins: number } | undefined> {
  const values = [at.kernelId, at.stream, at.byte, at.lastId]
  return (await db.query<{ id: string; begins: number }>(SEEK_SQL, values)).rows[0]
}

const PIECES_SQL = `
SELECT id::text AS id, text FROM (
  SELECT near.*, sum(octet_length(text)) OVER (ORDER BY id) - octet_length(text) AS before_it
  FROM (
    SELECT * FROM kernel_logs
    WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2) AND id >= $3::int8 AND id <= $4::int8
    ORDER BY id LIMIT $5
  ) near
) piece
WHERE before_it < $6 ORDER BY id`

/** The pieces from one on, as long as they are within the bounds; at least one, if there is one. */
export async function readLogTextPieces(
  db: Queryable,
  from: { kernelId: string; stream: Stream | null; id: string; lastId: string; piecesMax: number; bytesMax: number },
): Promise<{ id: string; text: string }[]> {
  const { kernelId, stream, id, lastId, piecesMax, bytesMax } = from
  const values = [kernelId, stream, id, lastId, piecesMax, bytesMax]
  return (await db.query<{ id: string; text: string }>(PIECES_SQL, values)).rows
}
