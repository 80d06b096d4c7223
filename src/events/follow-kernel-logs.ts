import { LOG_CHUNK_BYTES_MAX } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { joinChunks } from '../domain/agent/join-chunks.ts'
import { readKernelLogs, type LogPieceRow } from '../store/sql/agent/kernel-logs.sql.ts'
import { readKernelState } from '../store/sql/agent/read-kernel-state.sql.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { abortableGenerator } from './abortable-generator.ts'
import type { LogRelay } from './log-relay.ts'
import type { Topics } from './topics.ts'

const PIECES_PER_READ = 1_000
const BYTES_PER_READ = 4 * LOG_CHUNK_BYTES_MAX
/** Only a backstop: the relay signals what is new. */
const BACKSTOP_MS = 60_000

/**
 * A kernel's log from a position on, as it grows. Ends when the kernel is over and its whole log has been sent. The
 * state is read before the log, so that a read after the end includes everything written before it.
 */
export function followKernelLogs(options: {
  db: Database
  topics: Topics
  relay: LogRelay
  kernelId: string
  /** Decimal id of the last chunk seen; 0 for the beginning. */
  after: string
  closing: AbortSignal
}): AsyncIterableIterator<readonly LogPieceRow[]> {
  const { db, topics, relay, kernelId, closing } = options
  return abortableGenerator(async function* (signal) {
    const wakeSignal = createWakeSignal([signal, closing])
    const unsubscribe = topics.on(`logs:${kernelId}`, wakeSignal.raise)
    const unwatch = relay.watch(kernelId)
    try {
      let after = options.after
      while (!signal.aborted && !closing.aborted) {
        const state = await readKernelState(db, kernelId)
        const window = { after, before: null, backward: false, piecesMax: PIECES_PER_READ, bytesMax: BYTES_PER_READ }
        const pieces = await readKernelLogs(db, [kernelId], window)
        after = pieces.at(-1)?.id ?? after
        if (pieces.length > 0) yield joinChunks(pieces, 'front')
        const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
        if (pieces.length === PIECES_PER_READ || bytes > BYTES_PER_READ) continue
        if (!state || state.over) return
        await wakeSignal.wait(BACKSTOP_MS)
      }
    } finally {
      unsubscribe()
      unwatch()
      wakeSignal.stop()
    }
  })
}
