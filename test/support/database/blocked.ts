import { onTestFinished, vi } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import type { TestDatabase } from './database.ts'

/**
 * Waits until at least this many statements of the database wait for a lock.
 * @param text what the statements contain, within the first kilobyte
 */
export async function untilBlocked(db: Database, count: number, text = ''): Promise<void> {
  const sql = `SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`
  const isBlocked = async () => (await db.query<{ count: number }>(sql, [text])).rows[0]!.count >= count
  await vi.waitUntil(isBlocked, { timeout: 120_000 })
}

/**
 * Holds what a statement locks until it is released, at the latest at the end of the test: events of all databases of
 * the cluster wait for an open transaction.
 */
export async function hold({ connect }: Pick<TestDatabase, 'connect'>, lock: string): Promise<() => Promise<void>> {
  const holder = await connect()
  let ended: Promise<void> | undefined
  const release = () => (ended ??= holder.end())
  onTestFinished(release)
  await holder.query(`SET transaction_timeout = '${HELD_MINUTES_MAX}min'`)
  await holder.query('BEGIN')
  await holder.query(lock)
  return release
}

/** A transaction that some wait may hold up for two minutes, on a busy machine. */
const HELD_MINUTES_MAX = 10

/**
 * Runs `work` while another transaction holds the locks of `lock`, and releases them once this many statements wait.
 */
export async function meetingAt<T>(db: Database, lock: string, waiting: number, work: () => Promise<T>): Promise<T> {
  const locked = Promise.withResolvers<void>()
  const open = Promise.withResolvers<void>()
  const holder = db.transaction(async (tx) => {
    await tx.query(lock)
    locked.resolve()
    await open.promise
  })
  await locked.promise
  const done = work()
  try {
    await untilBlocked(db, waiting)
  } finally {
    open.resolve()
  }
  await holder
  return done
}
