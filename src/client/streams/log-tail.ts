import { NotFoundError } from '../api-errors.ts'
import type { CallOptions, Connection } from '../connection/connection.ts'
import { KernelLogTailDocument, KernelLogPageDocument, type KernelLogsSubscription } from '../operations.generated.ts'

type LogChunk = KernelLogsSubscription['kernelLogs']

/** Chunks of one request: a chunk is 64 KiB at most. */
const CHUNKS_AT_FIRST = 1
const CHUNKS_MAX = 16

export interface LogTail {
  /** Oldest first; the first one may be the end of a chunk. */
  chunks: LogChunk[]
  /** Cursor of the newest chunk, also if no line was asked for; null if nothing has been written since. */
  cursor: string | null
}

interface KernelIds {
  id: string
  kernelId: string
}

/**
 * The last lines of a kernel, of both streams as they arrived, read from the end: what is before them is not read, but
 * for what comes with them. A line that has not ended counts. `since`: none that arrived earlier. @throws NotFoundError
 */
export async function readLogTail(
  connection: Pick<Connection, 'request'>,
  { id, kernelId }: KernelIds,
  { lines, since }: { lines: number; since?: string | undefined },
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
    const { node } = await connection.request(KernelLogTailDocument, { id, last, before: end, since }, options)
    if (node?.__typename === 'Kernel') return node.logs
    throw noKernel(kernelId)
  }
}

/**
 * The first of the output that arrived since then, and the cursor behind it; null if there is none yet. @throws NotFoundError
 */
export async function readLogSince(
  connection: Pick<Connection, 'request'>,
  { id, kernelId }: KernelIds,
  since: string,
  options: CallOptions,
): Promise<LogTail> {
  const { node } = await connection.request(KernelLogPageDocument, { id, first: 1, since }, options)
  if (node?.__typename !== 'Kernel') throw noKernel(kernelId)
  const [edge] = node.logs.edges
  if (edge) return { chunks: [edge.node], cursor: edge.cursor }
  return { chunks: [], cursor: null }
}

function noKernel(kernelId: string): NotFoundError {
  return new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${kernelId}.`)
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
