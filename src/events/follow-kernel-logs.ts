import { RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { readKernelLogs, type LogChunkRow } from '../store/sql/read-kernel-logs.sql.ts'
import { readKernelState } from '../store/sql/read-kernel-state.sql.ts'
import { abortableGenerator } from './abortable-generator.ts'
import { createAlarm } from './alarm.ts'
import type { Topics } from './topics.ts'

const CHUNKS_PER_READ = 100

/**
 * A kernel's log from a position on, as it grows. Ends when the kernel is over and its whole log has been sent. The
 * state is read before the log, so that a read after the end includes everything written before it.
 */
export function followKernelLogs(options: {
  db: Database
  topics: Topics
  kernelId: string
  /** Decimal id of the last chunk seen; 0 for the beginning. */
  after: string
  closing: AbortSignal
}): AsyncIterableIterator<LogChunkRow> {
  const { db, topics, kernelId, closing } = options
  return abortableGenerator(async function* (signal) {
    const news = createAlarm([signal, closing])
    const unsubscribe = topics.on(`logs:${kernelId}`, news.ring)
    try {
      let after = options.after
      while (!signal.aborted && !closing.aborted) {
        const state = await readKernelState(db, kernelId)
        const chunks = await readKernelLogs(db, [kernelId], after, CHUNKS_PER_READ)
        for (const chunk of chunks) {
          after = chunk.id
          yield chunk
        }
        if (chunks.length === CHUNKS_PER_READ) continue
        if (!state || state.over) return
        await news.wait(RELAY_POLL_INTERVAL_MS)
      }
    } finally {
      unsubscribe()
      news.stop()
    }
  })
}
