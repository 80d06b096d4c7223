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

/** Of all pieces that a chunk was joined from: what follows it follows the last, what is before it is before the first. */
export function logCursor({ firstId, id }: Pick<LogChunkRow, 'firstId' | 'id'>): string {
  return Buffer.from(firstId === id ? `n:${id}` : `n:${firstId}-${id}`).toString('base64url')
}

/** The position behind this cursor; '0' without one. @throws RepriseError */
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

/** Of one stream, or of both as they arrived. */
export interface LogTextOf {
  kernelId: string
  stream: 'STDOUT' | 'STDERR' | null
}

/** What a log is as a text, at one moment. */
interface MeasuredLog {
  bytes: number
  /** The last piece, decimal; 0 if there is none. */
  lastId: string
  /** Where some pieces begin, in their order. */
  marks: readonly LogTextPlace[]
}

/** What lies between two marks is summed up to find a byte: some thousand lines. */
const MARK_EVERY_BYTES = 256 * 1024
/** A log has at most some 64 marks. */
const LOGS_REMEMBERED_MAX = 500

interface Remembered extends MeasuredLog {
  /** The first piece that there was: an older log is not the same once its beginning has been removed. */
  firstId: string
  /** Up to `lastId` all is settled as soon as no transaction is under way that was when it was measured. */
  unsettled: { lastId: string; next: string } | null
}

const NOTHING: Remembered = { bytes: 0, lastId: '0', marks: [], firstId: '0', unsettled: null }

/**
 * Measures logs by what has been added to them since they were last measured, whoever asked. Pieces are numbered before
 * they are committed, so that an earlier one may still come: remembered is only what none can come before.
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

type LogTextIndex = ReturnType<typeof createLogTextIndex>

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
  // Where no transaction is under way, nothing can come before what there is.
  const lastSettled =
    settled === next ? places.at(-1) : over ? places.find(({ id }) => id === waited.lastId) : undefined
  const kept = lastSettled ? upTo(lastSettled) : before
  const unsettled = waited && !over ? waited : { lastId: measured.lastId, next }
  return { measured, remembered: { ...kept, firstId, unsettled } }
}

function isMark({ begins, ends }: LogTextPlace): boolean {
  return Math.floor(begins / MARK_EVERY_BYTES) !== Math.floor(ends / MARK_EVERY_BYTES)
}

export type { LogSize }
/** Adjacent pieces of one stream are joined. */
export type LogChunkRow = LogPieceRow

/** Which page of a kernel's log. */
export interface LogPlace extends Pick<LogWindow, 'after' | 'before' | 'backward' | 'since'> {
  size: number
}

export interface LogPage {
  /** Oldest first: at most so many, and fewer where they would have been put together from very many pieces. */
  chunks: LogChunkRow[]
  /** Whether there are others in the direction in which it was read. */
  more: boolean
}

type Source = Pick<ServiceContext, 'db'>

/** The same page of each kernel, by id. The caller has checked that the viewer may see them. */
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
    // The last one that was read is then only seen to be there.
    const cut = pieces.length === piecesMax || bytes > bytesMax
    const within = cut ? withoutFarthest(pieces, pieces.length - 1, place) : pieces
    const joined = joinChunks(within, place.backward ? 'back' : 'front')
    return [kernelId, { chunks: withoutFarthest(joined, size, place), more: cut || joined.length > size }] as const
  })
  return new Map(pages)
}

function withoutFarthest<Row>(rows: Row[], size: number, { backward }: Pick<LogPlace, 'backward'>): Row[] {
  return backward ? rows.slice(Math.max(0, rows.length - size)) : rows.slice(0, size)
}

/** Pieces, as they arrived. */
export function countKernelLogs({ db }: Source, kernelIds: readonly string[]): Promise<Map<string, number>> {
  return count(db, kernelIds)
}

/** By kernel. The caller has checked that the viewer may see them. */
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
/** Held in memory for a client, however much it reads. */
const BYTES_PER_READ = 2 * LOG_CHUNK_BYTES_MAX

/** How much of a kernel's log there is now. @throws RepriseError KERNEL_NOT_FOUND */
export async function measureLogText(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  index: LogTextIndex,
  of: LogTextOf,
): Promise<MeasuredLog> {
  await assertKernelVisible(context, of.kernelId)
  return index.measure(context, of)
}

/**
 * Bytes of the text from the first to the last that is asked for, read as they are taken. What was measured stays as it
 * is: logs only grow.
 * @throws if it has been removed meanwhile
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
