import { LOG_CHUNK_BYTES_MAX } from '../../domain/limits.ts'
import { readLogTextPieces, seekLogText } from '../../store/sql/agent/read-log-text.sql.ts'
import type { LogTextIndex, LogTextOf, MeasuredLog } from './log-text-index.ts'
import { assertKernelVisible } from './read-kernel-logs.ts'
import type { ServiceContext } from '../service-context.ts'

type Source = Pick<ServiceContext, 'db'>

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
  { db }: Source,
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
