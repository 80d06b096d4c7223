import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/store/database.ts'
import { KEEP_CLOCK } from '../support/database/test-clock.ts'
import { passTime } from '../support/sessions/pass-time.ts'
import { now, type StormRecord } from './records.ts'

/**
 * Moves the database's clock to the next moment for which something waits, instead of waiting for it. The statements
 * are those of production: the two functions that tell them the time are replaced by ones that are ahead.
 *
 * Only what waits is older afterwards: agents and servers have been silent no longer, and what runs has run no longer,
 * because their own clocks have not moved.
 */

const LOOK_MS = 500
/** What comes that soon is waited for. */
const AT_ONCE_SECONDS = 3

const NEXT = `SELECT extract(epoch FROM least(
  (SELECT min(ready_at) FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD')),
  (SELECT min(next_try_at) FROM sessions WHERE status = 'PENDING' AND next_try_at IS NOT NULL)) - reprise_now())::float8 AS "inSeconds"`
const RUNNING = `UPDATE sessions SET times_out_at = times_out_at + make_interval(secs => $1),
  status_changed_at = status_changed_at + make_interval(secs => $1)
  WHERE status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')`

export async function prepareClock(db: Database): Promise<void> {
  await db.query('CREATE SCHEMA seeds')
  await db.query(KEEP_CLOCK)
}

/** Until the signal aborts. */
export async function moveTime(
  db: Database,
  options: { signal: AbortSignal; record: (record: StormRecord) => void },
): Promise<void> {
  const { signal, record } = options
  let ahead = 0
  while (!signal.aborted) {
    await sleep(LOOK_MS)
    try {
      const { rows } = await db.query<{ inSeconds: number | null }>(NEXT)
      const seconds = Math.ceil(rows[0]!.inSeconds ?? 0)
      if (seconds <= AT_ONCE_SECONDS) continue
      // Before it is: what a client is told in this moment may be of either time.
      record({ kind: 'clock', at: now(), aheadMs: (ahead + seconds) * 1000 })
      ahead += seconds
      await passTime(db, seconds)
      await db.query(RUNNING, [seconds])
    } catch {
      // The database is away: if the clock has moved is seen at the next look.
      ahead = await aheadOf(db).catch(() => ahead)
    }
  }
}

async function aheadOf(db: Database): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    'SELECT extract(epoch FROM ahead)::float8 AS seconds FROM seeds.clock',
  )
  return rows[0]!.seconds
}
