import type { Database } from '../store/database.ts'
import { readKernelLogs, type LogChunkRow } from '../store/sql/agent/kernel-logs.sql.ts'
import { readKernelState } from '../store/sql/agent/read-kernel-state.sql.ts'
import { abortableGenerator } from './abortable-generator.ts'
import { createAlarm } from './alarm.ts'
import type { LogRelay } from './log-relay.ts'
import type { Topics } from './topics.ts'

const CHUNKS_PER_READ = 100
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
}): AsyncIterableIterator<readonly LogChunkRow[]> {
  const { db, topics, relay, kernelId, closing } = options
  return abortableGenerator(async function* (signal) {
    const news = createAlarm([signal, closing])
    const unsubscribe = topics.on(`logs:${kernelId}`, news.ring)
    const unwatch = relay.watch(kernelId)
    try {
      let after = options.after
      while (!signal.aborted && !closing.aborted) {
        const state = await readKernelState(db, kernelId)
        const chunks = await readKernelLogs(db, [kernelId], after, CHUNKS_PER_READ)
        after = chunks.at(-1)?.id ?? after
        if (chunks.length > 0) yield chunks
        if (chunks.length === CHUNKS_PER_READ) continue
        if (!state || state.over) return
        await news.wait(BACKSTOP_MS)
      }
    } finally {
      unsubscribe()
      unwatch()
      news.stop()
    }
  })
}
