import { RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { readResubmissionProgress, type ResubmissionProgress } from '../store/sql/read-resubmission.sql.ts'
import { abortableGenerator } from './abortable-generator.ts'
import { createAlarm } from './alarm.ts'
import type { WakeHub } from './wake-hub.ts'

/**
 * How a resubmission stands, at once and after each change, until it has ended. Whoever does the work, on this server or
 * another, wakes its followers, and they look by themselves now and then; changes that come faster than the
 * follower takes them are one.
 */
export function followResubmission(options: {
  db: Database
  wake: WakeHub
  id: string
  visibleProjectId: string | null
  closing: AbortSignal
}): AsyncIterableIterator<ResubmissionProgress> {
  const { db, wake, id, visibleProjectId, closing } = options
  return abortableGenerator(async function* (signal) {
    const news = createAlarm([signal, closing])
    const unsubscribe = wake.on(`resubmission:${id}`, news.ring)
    try {
      let seen = ''
      while (!signal.aborted && !closing.aborted) {
        const progress = await readResubmissionProgress(db, id, visibleProjectId)
        if (!progress) return
        const now = `${progress.state} ${progress.done} ${progress.refused}`
        if (now !== seen) yield progress
        seen = now
        if (progress.state !== 'RUNNING') return
        await news.wait(RELAY_POLL_INTERVAL_MS)
      }
    } finally {
      unsubscribe()
      news.stop()
    }
  })
}
