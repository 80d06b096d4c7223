import { invalidCursor } from '../paging.ts'
import {
  countKernelLogs as count,
  type LogPieceRow,
  type LogSize,
  type LogTextPlace,
  type LogWindow,
  readKernelLogs as read,
  readLogTextPieces,
  readLogTextPlaces,
  readLogSizes as readSizes,
  seekLogText,
} from '../../store/sql/agent/kernel-logs.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { joinChunks } from '../../domain/agent/kernel-logs.ts'
import { RepriseError } from '../../domain/errors.ts'
import { LOG_CHUNK_BYTES_MAX, LOG_PIECES_PER_READ_MAX } from '../../domain/limits.ts'
import { readKernelState } from '../../store/sql/agent/agent-work.sql.ts'

/**
 * The cursor of a chunk names all pieces that it was joined from: a page after it follows the last piece, and a page
 * before it ends before the first.
 */
export function logCursor({ firstId, id }: Pick<LogChunkRow, 'firstId' | 'id'>): string {
  return Buffer.from(firstId === id ? `n:${id}` : `n:${firstId}-${id}`).toString('base64url')
}

/**
 * Returns the position after this cursor; '0' without one.
 * @throws RepriseError
 */
export function behindLogCursor(cursor: string | null | undefined): string {
  return piecesOf(cursor, 'after')?.last ?? '0'
}

/** @throws RepriseError */
export function piecesOf(
  cursor: string | null | undefined,
  name: 'after' | 'before',
): { first: string; last: string } | undefined {
  if (cursor == null) return undefined
  const match = /^n:(\d{1,18})(?:-(\d{1,18}))?$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return { first: match[1]!, last: match[2] ?? match[1]! }
}

/** Selects the log of one stream, or of both in the order of arrival. */
export interface LogTextOf {
  kernelId: string
  stream: 'STDOUT' | 'STDERR' | null
}

/** The size of a log text at one moment. */
interface MeasuredLog {
  bytes: number
  /** The last piece, in decimal; 0 if there is none. */
  lastId: string
  /** The places at which some pieces begin, in order. */
  marks: readonly LogTextPlace[]
}

/** Distance of marks. To find a byte, the pieces between two marks are summed up: some thousand lines. */
const MARK_EVERY_BYTES = 256 * 1024
/** Logs kept in memory. Each has at most some 64 marks. */
const LOGS_REMEMBERED_MAX = 500

interface Remembered extends MeasuredLog {
  /**
   * The first piece at that time. If the beginning of the log has been removed since, the measurement is not reused.
   */
  firstId: string
  /**
   * All pieces up to `lastId` are settled as soon as the transactions that were running at the measurement have ended.
   */
  unsettled: { lastId: string; next: string } | null
}

const NOTHING: Remembered = { bytes: 0, lastId: '0', marks: [], firstId: '0', unsettled: null }

/**
 * Measures logs incrementally: by the pieces that were added since the last measurement of any caller. Pieces are
 * numbered before they are committed, so that a piece with a smaller number may still appear; only the part before
 * which none can appear is reused.
 */
export function createLogTextIndex() {
  const known = new Map<string, Remembered>()

  async function measure({ db }: Pick<ServiceContext, 'db'>, of: LogTextOf): Promise<MeasuredLog> {
    const key = `${of.kernelId} ${of.stream}`
    const before = known.get(key) ?? NOTHING
    const { measured, remembered } = await readOn(db, of, before)
    known.delete(key)
    if (remembered.firstId !== '0') known.set(key, remembered)
    if (known.size > LOGS_REMEMBERED_MAX) known.delete(known.keys().next().value!)
    return measured
  }

  return { measure }
}

export type LogTextIndex = ReturnType<typeof createLogTextIndex>

export type { LogSize }
/** A chunk of adjacent pieces of one stream. */
export type LogChunkRow = LogPieceRow

/** A page of a kernel's log. */
export interface LogPlace extends Pick<LogWindow, 'after' | 'before' | 'backward' | 'since'> {
  size: number
}

export interface LogPage {
  /** Chunks, oldest first: at most as many as requested, and fewer if they would be joined from very many pieces. */
  chunks: LogChunkRow[]
  /** Whether there are more in the direction of reading. */
  more: boolean
}

type Source = Pick<ServiceContext, 'db'>

/** Reads the same page of each kernel, by id. The caller has checked that the viewer may see them. */
export async function readKernelLogs(
  { db }: Source,
  kernelIds: readonly string[],
  { size, ...place }: LogPlace,
): Promise<Map<string, LogPage>> {
  const piecesMax = Math.max(size + 1, Math.floor(LOG_PIECES_PER_READ_MAX / kernelIds.length))
  const bytesMax = size * LOG_CHUNK_BYTES_MAX
  const rows = await read(db, kernelIds, { ...place, piecesMax, bytesMax })
  const pages = [...Map.groupBy(rows, ({ kernelId }) => kernelId)].map(([kernelId, pieces]) => {
    const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
    // The last piece was read only to find out whether it exists.
    const cut = pieces.length === piecesMax || bytes > bytesMax
    const within = cut ? withoutFarthest(pieces, pieces.length - 1, place) : pieces
    const joined = joinChunks(within, place.backward ? 'back' : 'front')
    return [kernelId, { chunks: withoutFarthest(joined, size, place), more: cut || joined.length > size }] as const
  })
  return new Map(pages)
}

/** Counts the pieces of each kernel. */
export function countKernelLogs({ db }: Source, kernelIds: readonly string[]): Promise<Map<string, number>> {
  return count(db, kernelIds)
}

/** Reads the sizes by kernel. The caller has checked that the viewer may see them. */
export async function readLogSizes({ db }: Source, kernelIds: readonly string[]): Promise<Map<string, LogSize>> {
  return new Map((await readSizes(db, kernelIds)).map((size) => [size.kernelId, size]))
}

/** @throws RepriseError if the kernel does not exist or belongs to another tenant */
export async function assertKernelVisible(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  kernelId: string,
): Promise<void> {
  const kernel = await readKernelState(db, kernelId)
  if (kernel && (viewer.projectId === null || viewer.projectId === kernel.projectId)) return
  throw new RepriseError('KERNEL_NOT_FOUND', `There is no kernel ${kernelId}.`)
}

type TextSource = Pick<ServiceContext, 'db'>

const PIECES_PER_READ = 2_000
/** Bytes held in memory for a client, however much it reads. */
const BYTES_PER_READ = 2 * LOG_CHUNK_BYTES_MAX

/**
 * Measures the present log of a kernel.
 * @throws RepriseError KERNEL_NOT_FOUND
 */
export async function measureLogText(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  index: LogTextIndex,
  of: LogTextOf,
): Promise<MeasuredLog> {
  await assertKernelVisible(context, of.kernelId)
  return index.measure(context, of)
}

/**
 * Yields the requested bytes of the text, read as the consumer takes them. The measured part does not change, because
 * logs only grow.
 * @throws if the log has been removed meanwhile
 */
export async function* readLogText(
  { db }: TextSource,
  of: LogTextOf,
  { lastId, marks }: MeasuredLog,
  { first, last }: { first: number; last: number },
): AsyncGenerator<Uint8Array, void, void> {
  const next = marks.findIndex(({ begins }) => begins > first)
  const from = marks.at(next < 0 ? -1 : next - 1)
  const bounds = {
    from: next === 0 || !from ? { id: '0', begins: 0 } : from,
    lastId: next < 0 ? lastId : marks[next]!.id,
  }
  const begin = await seekLogText(db, { ...of, byte: first, ...bounds })
  let left = last - first + 1
  let skip = first - (begin?.begins ?? 0)
  for (let id = begin?.id; left > 0;) {
    const pieces =
      id === undefined
        ? []
        : await readLogTextPieces(db, { ...of, id, lastId, piecesMax: PIECES_PER_READ, bytesMax: BYTES_PER_READ })
    if (pieces.length === 0) throw new Error(`the log of kernel ${of.kernelId} has been removed`)
    const bytes = Buffer.from(pieces.map(({ text }) => text).join('')).subarray(skip, skip + left)
    yield bytes
    left -= bytes.length
    skip = 0
    id = String(BigInt(pieces.at(-1)!.id) + 1n)
  }
}

async function readOn(
  db: ServiceContext['db'],
  of: LogTextOf,
  before: Remembered,
): Promise<{ measured: MeasuredLog; remembered: Remembered }> {
  const { firstId, settled, next, places } = await readLogTextPlaces(db, {
    ...of,
    afterId: before.lastId,
    bytes: before.bytes,
    everyBytes: MARK_EVERY_BYTES,
    wantedId: before.unsettled?.lastId ?? null,
  })
  if (before !== NOTHING && firstId !== before.firstId) return readOn(db, of, NOTHING)
  const upTo = (last: LogTextPlace | undefined): MeasuredLog => ({
    bytes: last?.ends ?? before.bytes,
    lastId: last?.id ?? before.lastId,
    marks: [...before.marks, ...places.filter((place) => isMark(place) && place.ends <= (last?.ends ?? 0))],
  })
  const measured = upTo(places.at(-1))
  const waited = before.unsettled
  const over = waited !== null && BigInt(settled) >= BigInt(waited.next)
  // If no transaction is running, no piece can appear before the existing ones.
  const lastSettled =
    settled === next ? places.at(-1) : over ? places.find(({ id }) => id === waited.lastId) : undefined
  const kept = lastSettled ? upTo(lastSettled) : before
  const unsettled = waited && !over ? waited : { lastId: measured.lastId, next }
  return { measured, remembered: { ...kept, firstId, unsettled } }
}

function isMark({ begins, ends }: LogTextPlace): boolean {
  return Math.floor(begins / MARK_EVERY_BYTES) !== Math.floor(ends / MARK_EVERY_BYTES)
}

function withoutFarthest<Row>(rows: Row[], size: number, { backward }: Pick<LogPlace, 'backward'>): Row[] {
  return backward ? rows.slice(Math.max(0, rows.length - size)) : rows.slice(0, size)
}
