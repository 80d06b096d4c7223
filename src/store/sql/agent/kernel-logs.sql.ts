import type { LogText } from '../../../domain/agent/kernel-logs.ts'
import type { LogPiece } from '../../../domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_CHUNK_BYTES_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

export interface LogPieceRow extends LogText {
  kernelId: string
}

/** The start and the size of a page of log pieces. */
export interface LogWindow {
  /** Only pieces after this one, in decimal; 0 for the beginning. */
  after: string
  /** Only pieces before this one; null for no bound. */
  before: string | null
  /** Reads from the end of the range instead of from its beginning. */
  backward: boolean
  /** Only pieces that arrived then or later; null for all. */
  since?: Date | null
  piecesMax: number
  /** The text that a page may have; one more piece is read than fits. */
  bytesMax: number
}

/**
 * Reads pieces of each kernel, oldest first. The number of scanned pieces is bounded, and so is the size of the text
 * that is read. Index: kernel_logs(kernel_id, id), in either direction. Pieces since a time follow the last piece
 * before that time, which is searched from the end.
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

/** One backward probe of kernel_logs(kernel_id, id) per kernel. A kernel that no longer exists has ended. */
const READ_LOG_ENDS_SQL = `
SELECT followed.id AS "kernelId",
  coalesce((SELECT max(l.id) FROM kernel_logs l WHERE l.kernel_id = followed.id), 0) || ' '
    || coalesce(k.status IN ('TERMINATED', 'ERROR', 'CANCELLED'), true) AS end
FROM unnest($1::uuid[]) AS followed(id) LEFT JOIN kernels k ON k.id = followed.id`

/** Reads a text per kernel that changes when its log grows or the kernel ends. */
export async function readLogEnds(
  db: Queryable,
  kernelIds: readonly string[],
): Promise<{ kernelId: string; end: string }[]> {
  return (await db.query<{ kernelId: string; end: string }>(READ_LOG_ENDS_SQL, [kernelIds])).rows
}

/** The largest end of a stream: the kept text, and one more piece with the note that it was cut. */
const STREAM_END_MAX = LOG_BYTES_PER_KERNEL_MAX + LOG_CHUNK_BYTES_MAX

/**
 * Stores pieces. A piece that is already stored (sent again after a lost answer) changes nothing. Neither does a piece
 * of a kernel that does not belong to the agent, was never ordered to start, or is known to be gone. Streams start
 * again with each assignment; the text of earlier assignments is kept. Indexes: both primary keys.
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

export interface LogSize {
  kernelId: string
  bytes: number
  truncated: boolean
}

/**
 * Reads how much output of each kernel is kept, and whether some was omitted. The amount is the sum of the ends of its
 * streams. Omitted output is recognised by the note in its place, right after the head of a stream: the note counts as
 * one byte of the stream, while the text of a real byte has at most three bytes. Two probes for each stream of each
 * assignment. Index: kernel_logs(kernel_id, assignment, stream, offset).
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

type Stream = 'STDOUT' | 'STDERR'

/** A piece, and its range in the kernel's log text, in UTF-8 bytes. */
export interface LogTextPlace {
  /** In decimal. */
  id: string
  begins: number
  ends: number
}

interface LogTextPlaces {
  /** The first existing piece of the kernel, of either stream; 0 if there is none. */
  firstId: string
  /** All transactions before this one have ended. */
  settled: string
  /** No transaction has this id yet. */
  next: string
  /** Places in the order of the log; the last one is its end. */
  places: LogTextPlace[]
}

/**
 * Selects three kinds of pieces after a given one: the last, a wanted one, and those that contain a multiple of $5
 * bytes. The sizes of texts are known without reading them: 400,000 pieces take some 200 ms. Index:
 * kernel_logs(kernel_id, id).
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

interface LogTextBehind {
  kernelId: string
  /** Null for both streams, in the order of arrival. */
  stream: Stream | null
  /** In decimal; 0 for the beginning. */
  afterId: string
  /** Bytes of text up to that piece. */
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

/**
 * Finds the piece, between two given ones, that contains a byte of the text, and the byte at which the piece begins.
 */
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

/** Reads pieces from one on, as far as the bounds allow, and at least one if there is one. */
export async function readLogTextPieces(
  db: Queryable,
  from: { kernelId: string; stream: Stream | null; id: string; lastId: string; piecesMax: number; bytesMax: number },
): Promise<{ id: string; text: string }[]> {
  const { kernelId, stream, id, lastId, piecesMax, bytesMax } = from
  const values = [kernelId, stream, id, lastId, piecesMax, bytesMax]
  return (await db.query<{ id: string; text: string }>(PIECES_SQL, values)).rows
}
