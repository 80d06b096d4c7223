import { RepriseError } from '../domain/errors.ts'
import { compareCursors, encodeCursor, type EventCursor } from '../domain/event-cursor.ts'
import type { Database } from '../store/database.ts'
import { isBetweenEras } from '../store/postgres/outbox-era.ts'
import { readOutboxBounds } from '../store/sql/event/read-events.sql.ts'

/**
 * Checks that all events after this cursor still exist, since removed ones would be skipped silently, and that the
 * database knows it: a copy from before the cursor was handed out has no events there for a long time.
 *
 * @throws RepriseError CURSOR_EXPIRED; DATABASE_UNAVAILABLE while the database is a standby, and until a promoted one
 *   has begun its era
 */
export async function assertCursorKept(db: Database, cursor: EventCursor): Promise<void> {
  const { removed, next: seen } = await readOutboxBounds(db)
  if (compareCursors(cursor, removed) < 0) {
    throw expired(`events behind this cursor are no longer kept; what is kept begins at ${encodeCursor(removed)}`)
  }
  if (cursor.xid <= seen.xid) return
  if (await isBetweenEras(db)) throw new RepriseError('DATABASE_UNAVAILABLE', 'The database is being promoted.')
  // What was seen may be of an era that ended since.
  const { next } = await readOutboxBounds(db)
  if (cursor.xid > next.xid) {
    throw expired(`this database has never come to this cursor; the next event is behind ${encodeCursor(next)}`)
  }
}

function expired(why: string): RepriseError {
  const message = `after: ${why}`
  return new RepriseError('CURSOR_EXPIRED', message, [{ path: 'after', message }])
}
