import { RepriseError } from '../domain/errors.ts'
import { compareCursors, encodeCursor, type EventCursor } from '../domain/event-cursor.ts'
import type { Database } from '../store/database.ts'
import { readRemovedThrough } from '../store/sql/read-removed-through.sql.ts'

/**
 * Checks that all events after this cursor still exist; removed ones would otherwise be skipped silently.
 *
 * @throws RepriseError CURSOR_EXPIRED
 */
export async function assertCursorKept(db: Database, cursor: EventCursor): Promise<void> {
  const removed = await readRemovedThrough(db)
  if (compareCursors(cursor, removed) >= 0) return
  const message = `after: events behind this cursor are no longer kept; what is kept begins at ${encodeCursor(removed)}`
  throw new RepriseError('CURSOR_EXPIRED', message, [{ path: 'after', message }])
}
