import type { Queryable } from '../../database.ts'

type Stream = 'STDOUT' | 'STDERR'

/** A piece, and the bytes of the text (in UTF-8) that it has. */
export interface LogTextPlace {
  /** Decimal. */
  id: string
  begins: number
  ends: number
}

export interface LogTextPlaces {
  /** The first piece of the kernel that there is, of whichever stream; 0 if there is none. */
  firstId: string
  /** Transactions before this one are over. */
  settled: string
  /** No transaction has this number yet. */
  next: string
  /** In their order; the last one is the end of the log. */
  places: LogTextPlace[]
}

/**
 * Of the pieces behind one, the last, a wanted one, and those in which a multiple of $5 bytes lies. The sizes of texts
 * are known without reading them: 400,000 pieces take some 200 ms. Index: kernel_logs(kernel_id, id).
 */
const PLACES_SQL = `
SELECT log.*, place.id::text AS id, place.begins::float8 AS begins, place.ends::float8 AS ends
FROM (
  SELECT coalesce((SELECT min(id) FROM kernel_logs WHERE kernel_id = $1), 0)::text AS "firstId",
    pg_snapshot_xmin(pg_current_snapshot())::text AS settled, pg_snapshot_xmax(pg_current_snapshot())::text AS next
) log
LEFT JOIN (
  SELECT id, $4::int8 + ends - size AS begins, $4::int8 + ends AS ends FROM (
    SELECT id, octet_length(text) AS size, sum(octet_length(text)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS ends
    FROM kernel_logs WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2) AND id > $3::int8
  ) piece
  WHERE id = $6::int8 OR ($4::int8 + ends) / $5::int8 <> ($4::int8 + ends - size) / $5::int8 OR id = (
    SELECT max(id) FROM kernel_logs WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2))
) place ON true
ORDER BY place.id`

export interface LogTextBehind {
  kernelId: string
  /** Null for both, as they arrived. */
  stream: Stream | null
  /** Decimal; 0 for the beginning. */
  afterId: string
  /** Of the text up to there. */
  bytes: number
  everyBytes: number
  wantedId: string | null
}

export async function readLogTextPlaces(
  db: Queryable,
  { kernelId, stream, afterId, bytes, everyBytes, wantedId }: LogTextBehind,
): Promise<LogTextPlaces> {
  type Row = Omit<LogTextPlaces, 'places'> & { [Column in keyof LogTextPlace]: LogTextPlace[Column] | null }
  const { rows } = await db.query<Row>(PLACES_SQL, [kernelId, stream, afterId, bytes, everyBytes, wantedId])
  const { firstId, settled, next } = rows[0]!
  const places = rows.flatMap(({ id, begins, ends }) => (id === null ? [] : [{ id, begins: begins!, ends: ends! }]))
  return { firstId, settled, next, places }
}

const SEEK_SQL = `
SELECT id::text AS id, begins::float8 AS begins FROM (
  SELECT id, $5::int8 + sum(octet_length(text)) OVER (ORDER BY id) - octet_length(text) AS begins
  FROM kernel_logs
  WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2) AND id >= $4::int8 AND id <= $6::int8
) piece
WHERE piece.begins <= $3 ORDER BY piece.begins DESC, piece.id DESC LIMIT 1`

/** The piece in which a byte of the text lies, of the pieces between two, and the byte at which it begins. */
export async function seekLogText(
  db: Queryable,
  at: {
    kernelId: string
    stream: Stream | null
    byte: number
    from: Pick<LogTextPlace, 'id' | 'begins'>
    lastId: string
  },
): Promise<Pick<LogTextPlace, 'id' | 'begins'> | undefined> {
  const values = [at.kernelId, at.stream, at.byte, at.from.id, at.from.begins, at.lastId]
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
WHERE before_it < $6 ORDER BY piece.id`

/** The pieces from one on, as long as they are within the bounds; at least one, if there is one. */
export async function readLogTextPieces(
  db: Queryable,
  from: { kernelId: string; stream: Stream | null; id: string; lastId: string; piecesMax: number; bytesMax: number },
): Promise<{ id: string; text: string }[]> {
  const { kernelId, stream, id, lastId, piecesMax, bytesMax } = from
  const values = [kernelId, stream, id, lastId, piecesMax, bytesMax]
  return (await db.query<{ id: string; text: string }>(PIECES_SQL, values)).rows
}
