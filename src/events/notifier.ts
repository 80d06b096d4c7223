import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'

export interface Notifier {
  notify(): void
  /** Resolves when no statement is in flight. */
  stop(): Promise<void>
}

/**
 * The first notification of a burst is sent at once, the rest as one. PostgreSQL serializes the commits of transactions
 * that notify, so the transactions that do the work do not notify themselves. 40 notifications per second and server
 * leave that lock idle, and delay what another server sees by at most 25 ms.
 */
const NOTIFY_INTERVAL_MS = 25

export function createNotifier(options: {
  db: Database
  channel: string
  /** Returns and clears what has accumulated; called when a notification is sent. */
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
