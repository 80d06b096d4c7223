import { RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { readResubmissionProgress, type ResubmissionProgress } from '../store/sql/resubmission/read-resubmission.sql.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { abortableGenerator } from './abortable-generator.ts'
import type { WakeHub } from './wake-hub.ts'

/**
 * Yields the progress of a resubmission: at once, then after each change, until it has ended. The server that does the
 * work wakes the followers on all servers; followers also poll. Several changes are merged into one if the consumer is
 * slower than the changes.
 */
export function followResubmission(options: {
  db: Database
  wake: WakeHub
  id: string
  visibleProjectId: string | null
  closing: AbortSignal
}): AsyncIterableIterator<readonly ResubmissionProgress[]> {
  const { db, wake, id, visibleProjectId, closing } = options
  return abortableGenerator(async function* (signal) {
    const wakeSignal = createWakeSignal([signal, closing])
    const unsubscribe = wake.on(`resubmission:${id}`, wakeSignal.raise)
    try {
      let seen = ''
      while (!signal.aborted && !closing.aborted) {
        const progress = await readResubmissionProgress(db, id, visibleProjectId)
        if (!progress) return
        const now = `${progress.state} ${progress.done} ${progress.refused}`
        if (now !== seen) yield [progress]
        seen = now
        if (progress.state !== 'RUNNING') return
        await wakeSignal.wait(RELAY_POLL_INTERVAL_MS)
      }
    } finally {
      unsubscribe()
      wakeSignal.stop()
    }
  })
}
