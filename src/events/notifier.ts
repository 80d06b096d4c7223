import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'

export interface Notifier {
  notify(): void
  /** Resolves when no statement is under way. */
  stop(): Promise<void>
}

/**
 * The first of a burst goes out at once, the rest as one. PostgreSQL lets transactions that notify commit one
 * after the other, so it is kept out of those that do the work; 40 a second and server leave that lock idle,
 * and add at most 25 ms to what another server would see.
 */
const NOTIFY_INTERVAL_MS = 25

export function createNotifier(options: {
  db: Database
  channel: string
  /** What has gathered until it is sent. */
  takePayload: () => string
  log: Logger
}): Notifier {
  const { db, channel, takePayload, log } = options
  let timer: NodeJS.Timeout | undefined
  let owed = false
  let stopped = false
  let sending: Promise<void> = Promise.resolve()

  function send(): void {
    owed = false
    timer = setTimeout(() => {
      timer = undefined
      if (owed) send()
    }, NOTIFY_INTERVAL_MS)
    sending = db.query('SELECT pg_notify($1, $2)', [channel, takePayload()]).then(
      () => {},
      (error) => log.debug({ err: error, channel }, 'could not notify other servers; they will poll'),
    )
  }

  return {
    notify() {
      if (stopped) return
      if (timer) owed = true
      else send()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await sending
    },
  }
}
