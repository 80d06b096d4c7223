import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { EmbeddedPostgresError } from './embedded-error.ts'

/**
 * A lock that allows one server process per data directory: an advisory lock on a connection held for the life of the
 * process, so that it is released however the process ends. The connection's name identifies the holder.
 */

const OWNER_LOCK_KEY = 7_265_707_269
/**
 * Time to wait for the lock of a killed process. PostgreSQL closes its connection as soon as it reads the end of the
 * stream: within milliseconds, later on a busy machine.
 */
const WAIT_FOR_PREDECESSOR_MS = 5_000
const POLL_MS = 100

export interface OwnerLock {
  release(): Promise<void>
}

export async function takeOwnerLock(options: {
  connectionString: string
  dataDir: string
  /** Called when the connection breaks: the lock is free, and the database may be gone. */
  onLost: (error: Error | null) => void
}): Promise<OwnerLock> {
  const name = `reprise-owner ${process.pid} ${hostname()}`
  const client = new pg.Client({ connectionString: options.connectionString, application_name: name, keepAlive: true })
  let fault: Error | null = null
  client.on('error', (error) => (fault = error))
  await client.connect()
  try {
    await waitForLock(client, options.dataDir)
  } catch (error) {
    await client.end().catch(() => null)
    throw error
  }
  let released = false
  client.once('end', () => released || options.onLost(fault))
  return {
    async release() {
      released = true
      await client.end().catch(() => null)
    },
  }
}

async function waitForLock(client: pg.Client, dataDir: string): Promise<void> {
  const deadline = performance.now() + WAIT_FOR_PREDECESSOR_MS
  for (;;) {
    const answer = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [OWNER_LOCK_KEY])
    if (answer.rows[0]!.taken) return
    if (performance.now() > deadline) break
    await sleep(POLL_MS)
  }
  throw new EmbeddedPostgresError(
    `Another reprise server (process ${await holder(client)}) uses the data directory ${dataDir}: ` +
      'stop it, or set REPRISE_DATA_DIR to another directory.',
  )
}

async function holder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND application_name LIKE 'reprise-owner %' LIMIT 1`,
  )
  return rows[0]?.name.split(' ')[1] ?? 'unknown'
}
