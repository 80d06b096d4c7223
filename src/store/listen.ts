import pg from 'pg'
import type { Logger } from '../observability/log.ts'
import { wait } from '../waiting/wait.ts'
import { connectionSettings, type Patience } from './database.ts'

export interface Listener {
  stop(): Promise<void>
}

const RECONNECT_PAUSE_MIN_MS = 100
const RECONNECT_PAUSE_MAX_MS = 5_000

/**
 * Keeps one connection listening on a channel and reconnects whenever it breaks. Notifications are only hints: those
 * sent while the connection was down are lost, so `onNotification` is called once with '' after each connect.
 */
export function listen(options: {
  connectionString: string
  channel: string
  onNotification: (payload: string) => void
  log: Logger
  patience?: Patience
}): Listener {
  const { channel, onNotification, log } = options
  const stopped = new AbortController()

  async function session(): Promise<void> {
    const client = new pg.Client({
      ...connectionSettings(options.patience),
      connectionString: options.connectionString,
      application_name: 'reprise-listen',
    })
    const { promise: over, resolve: end } = Promise.withResolvers<Error | null>()
    client.on('error', end)
    client.on('end', () => end(null))
    client.on('notification', ({ payload }) => onNotification(payload ?? ''))
    stopped.signal.addEventListener('abort', () => end(null), { once: true })
    try {
      await client.connect()
      await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
      onNotification('')
      const fault = await over
      if (fault) throw fault
    } finally {
      await client.end().catch(() => {})
    }
  }

  async function run(): Promise<void> {
    let pause = RECONNECT_PAUSE_MIN_MS
    while (!stopped.signal.aborted) {
      const since = performance.now()
      try {
        await session()
      } catch (error) {
        if (!stopped.signal.aborted)
          log.warn({ err: error, channel }, 'lost the connection that listens for notifications')
      }
      if (performance.now() - since > RECONNECT_PAUSE_MAX_MS) pause = RECONNECT_PAUSE_MIN_MS
      await wait(pause, { signal: stopped.signal })
      pause = Math.min(pause * 2, RECONNECT_PAUSE_MAX_MS)
    }
  }

  const running = run()
  return {
    async stop() {
      stopped.abort()
      await running
    },
  }
}
