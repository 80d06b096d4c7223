import { NotFoundError } from '../api-errors.ts'
import type { CallOptions, Connection } from '../connection/connection.ts'
import { KernelLogTailDocument, type KernelLogsSubscription } from '../operations.generated.ts'

type LogChunk = KernelLogsSubscription['kernelLogs']

/** Chunks of one request: a chunk is 64 KiB at most. */
const CHUNKS_AT_FIRST = 1
const CHUNKS_MAX = 16

export interface LogTail {
  /** Oldest first; the first one may be the end of a chunk. */
  chunks: LogChunk[]
  /** Cursor of the newest chunk, also if no line was asked for; null if nothing has been written. */
  cursor: string | null
}

/**
 * The last lines of a kernel, of both streams as they arrived, read from the end: what is before them is not read, but
 * for what comes with them. A line that has not ended counts. @throws NotFoundError
 */
export async function readLogTail(
  connection: Pick<Connection, 'request'>,
  { id, kernelId }: { id: string; kernelId: string },
  lines: number,
  options: CallOptions,
): Promise<LogTail> {
  const tail: LogTail = { chunks: [], cursor: null }
  const cut = lastLines(lines)
  let before: string | null = null
  for (let last = CHUNKS_AT_FIRST; ; last = Math.min(2 * last, CHUNKS_MAX)) {
    const data: Awaited<ReturnType<typeof page>> = await page(last, before)
    tail.cursor ??= data.edges.at(-1)?.cursor ?? null
    for (const { node } of data.edges.toReversed()) {
      const { text, complete } = cut(node)
      if (text !== '') tail.chunks.unshift({ ...node, text })
      if (complete) return tail
    }
    if (!data.pageInfo.hasPreviousPage) return tail
    before = data.pageInfo.startCursor
  }

  async function page(last: number, end: string | null) {
    const { node } = await connection.request(KernelLogTailDocument, { id, last, before: end }, options)
    if (node?.__typename === 'Kernel') return node.logs
    throw new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${kernelId}.`)
  }
}

/** Takes chunks, the newest first, and answers with what of each belongs to the last lines. */
export function lastLines(
  count: number,
): (chunk: Pick<LogChunk, 'stream' | 'text'>) => { text: string; complete: boolean } {
  const begun = new Set<string>()
  let lines = 0
  return ({ stream, text }) => {
    if (!begun.has(stream) && text !== '') {
      begun.add(stream)
      if (!text.endsWith('\n')) lines++
    }
    if (lines > count) return { text: '', complete: true }
    for (let at = text.lastIndexOf('\n'); at >= 0; at = at === 0 ? -1 : text.lastIndexOf('\n', at - 1)) {
      if (++lines > count) return { text: text.slice(at + 1), complete: true }
    }
    return { text, complete: false }
  }
}
