import { connection } from '../../api/connection.ts'
import { lastingStream } from '../../api/lasting-stream.ts'
import type { LogSource } from '../../log/use-log.ts'
import { UiKernelLogDocument, UiKernelLogFollowDocument } from './chain.generated.ts'

/** Of up to so many bytes, all is read at once. */
const WHOLE_BYTES_MAX = 2_000_000

/** The log of a kernel; what comes later if it is live. */
export function kernelLog({ id, kernelId, isLive }: { id: string; kernelId: string; isLive: boolean }): LogSource {
  let before: string | null | undefined
  let after: string | null = null
  let bytes = 0
  return {
    hasEarlier: () => before !== null,
    async earlier(chunks, signal) {
      const page = await readPage(id, chunks, before ?? null, signal)
      if (before === undefined) [after, bytes] = [page.after, page.bytes]
      before = page.before
      return page.pieces
    },
    isShort: () => bytes <= WHOLE_BYTES_MAX,
    async *later(signal) {
      if (!isLive) return
      const stream = lastingStream(UiKernelLogFollowDocument, { kernelId, after }, { signal })
      for await (const { kernelLogs } of stream) yield [kernelLogs]
    },
  }
}

async function readPage(id: string, last: number, before: string | null, signal: AbortSignal) {
  const { node } = await connection.request(UiKernelLogDocument, { kernelId: id, last, before }, { signal })
  if (node?.__typename !== 'Kernel') throw new Error('This log is not there any more')
  const { edges, pageInfo } = node.logs
  return {
    pieces: edges.map((edge) => edge.node),
    before: pageInfo.hasPreviousPage ? pageInfo.startCursor : null,
    after: pageInfo.endCursor,
    bytes: node.logBytes,
  }
}
