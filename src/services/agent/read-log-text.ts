import { LOG_CHUNK_BYTES_MAX } from '../../domain/limits.ts'
import {
  readLogTextBounds,
  readLogTextPieces,
  seekLogText,
  type LogTextBounds,
} from '../../store/sql/agent/read-log-text.sql.ts'
import { assertKernelVisible } from './read-kernel-logs.ts'
import type { ServiceContext } from '../service-context.ts'

/** Of one stream, or of both as they arrived. */
export interface LogTextOf {
  kernelId: string
  stream: 'STDOUT' | 'STDERR' | null
}

type Source = Pick<ServiceContext, 'db'>

const PIECES_PER_READ = 2_000
/** Held in memory for a client, however much it reads. */
const BYTES_PER_READ = 2 * LOG_CHUNK_BYTES_MAX

/** How much of a kernel's log there is now. @throws RepriseError KERNEL_NOT_FOUND */
export async function measureLogText(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  { kernelId, stream }: LogTextOf,
): Promise<LogTextBounds> {
  await assertKernelVisible(context, kernelId)
  return readLogTextBounds(context.db, kernelId, stream)
}

/**
 * Bytes of the text from the first to the last that is asked for, read as they are taken. What was measured stays as it
 * is: logs only grow.
 * @throws if it has been removed meanwhile
 */
export async function* readLogText(
  { db }: Source,
  { lastId, ...of }: LogTextOf & Pick<LogTextBounds, 'lastId'>,
  { first, last }: { first: number; last: number },
): AsyncGenerator<Uint8Array, void, void> {
  const begin = await seekLogText(db, { ...of, byte: first, lastId })
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
