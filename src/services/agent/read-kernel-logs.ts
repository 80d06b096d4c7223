import { joinChunks } from '../../domain/agent/join-chunks.ts'
import { RepriseError } from '../../domain/errors.ts'
import { LOG_CHUNK_BYTES_MAX, LOG_PIECES_PER_READ_MAX } from '../../domain/limits.ts'
import {
  countKernelLogs as count,
  readKernelLogs as read,
  type LogPieceRow,
  type LogWindow,
} from '../../store/sql/agent/kernel-logs.sql.ts'
import { readLogSizes as readSizes, type LogSize } from '../../store/sql/agent/read-log-sizes.sql.ts'
import { readKernelState } from '../../store/sql/agent/read-kernel-state.sql.ts'
import type { ServiceContext } from '../service-context.ts'

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
