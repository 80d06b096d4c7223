import { vi } from 'vitest'
import type { Database } from '../../../src/store/database.ts'

/** Waits until at least this many statements of the database wait for a lock. */
export async function untilBlocked(db: Database, count: number): Promise<void> {
  const sql = `SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await vi.waitUntil(async () => (await db.query<{ count: number }>(sql)).rows[0]!.count >= count, { timeout: 120_000 })
}

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
