import { RepriseError } from '../domain/errors.ts'
import { compareCursors, encodeCursor, type EventCursor } from '../domain/event-cursor.ts'
import type { Database } from '../store/database.ts'
import { readRemovedThrough } from '../store/sql/read-removed-through.sql.ts'

/**
 * Whether everything that follows this cursor is still there: it would else be passed over in silence.
 * @throws RepriseError CURSOR_EXPIRED
 */
export async function assertCursorKept(db: Database, cursor: EventCursor): Promise<void> {
  const removed = await readRemovedThrough(db)
  if (compareCursors(cursor, removed) >= 0) return
  const message = `after: events behind this cursor are no longer kept; what is kept begins at ${encodeCursor(removed)}`
  throw new RepriseError('CURSOR_EXPIRED', message, [{ path: 'after', message }])
}
