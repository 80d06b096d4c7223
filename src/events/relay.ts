import type { EventCursor } from '../domain/events.ts'
import { RELAY_BATCH_EVENTS_MAX, RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'
import { readEvents, readHorizon } from '../store/sql/event/read-events.sql.ts'
import { wait } from '../waiting/wait.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import type { EventBus } from './bus.ts'

/**
 * Publishes the outbox on this process's bus; one per server process. Reads when woken, and at least every
 * RELAY_POLL_INTERVAL_MS. Its position is only in memory: subscribers that need earlier events read the outbox from a
 * cursor.
 */
export interface Relay {
  /** Resolves once the starting position is known: events committed later are published. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Called when a transaction has committed events, here or on another server. */
  wake(): void
}

/**
 * First pause after a wake-up. A read may find nothing yet: events are visible only when all transactions that began
 * before theirs have ended, and one may be just about to end.
 */
const RELOOK_PAUSE_MIN_MS = 10
const FAULT_PAUSE_MAX_MS = 5_000

export function createRelay(options: {
  db: Database
  bus: EventBus
  log: Logger
  /** Called after a fault and on a new connection, because another database may have been promoted meanwhile. */
  settle: () => Promise<void>
  pollIntervalMs?: number
}): Relay {
  const { db, bus, log, settle, pollIntervalMs = RELAY_POLL_INTERVAL_MS } = options
  const stopped = new AbortController()
  const wakeSignal = createWakeSignal([stopped.signal])
  let loop: Promise<void> | undefined

  async function run(start: EventCursor): Promise<void> {
    let position = start
    let pause = pollIntervalMs
    let woken = false
    let faults = 0
    let settled = -1
    while (!stopped.signal.aborted) {
      if (wakeSignal.take() || woken) pause = RELOOK_PAUSE_MIN_MS
      woken = false
      try {
        const opened = db.opened()
        if (faults > 0 || opened !== settled) {
          // Another database may lack events of this one.
          bus.forgetPublished()
          await settle()
        }
        settled = opened
        const { events, removed } = await readEvents(db, position, RELAY_BATCH_EVENTS_MAX)
        faults = 0
        // A new connection was opened during the read: `settle` has to be called before these events are used.
        if (db.opened() !== settled) continue
        if (removed) {
          log.warn('events were deleted before this server had read them: its subscriptions end with CURSOR_EXPIRED')
          position = removed
          bus.skipTo(removed)
        }
        if (events.length > 0) {
          position = events.at(-1)!.cursor
          bus.publish(events)
        }
        if (events.length === RELAY_BATCH_EVENTS_MAX) continue
        woken = await wakeSignal.wait(pause)
        pause = Math.min(pause * 2, pollIntervalMs)
      } catch (error) {
        if (stopped.signal.aborted) return
        const againInMs = Math.min(FAULT_PAUSE_MAX_MS, pollIntervalMs * 2 ** Math.min(faults++, 10))
        log.warn({ err: error, againInMs }, 'cannot read events')
        await wait(againInMs, { signal: stopped.signal })
      }
    }
  }

  return {
    async start() {
      const start = await readHorizon(db)
      bus.startAt(start)
      loop = run(start)
    },
    async stop() {
      stopped.abort()
      await loop
    },
    wake: wakeSignal.raise,
  }
}
