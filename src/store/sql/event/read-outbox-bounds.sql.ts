import type { EventCursor } from '../../../domain/event-cursor.ts'
import type { Queryable } from '../../database.ts'
import { NEXT_POSITION } from './read-events.sql.ts'

const SQL = `
SELECT value ->> 'xid' AS xid, value ->> 'id' AS id, ${NEXT_POSITION}::text AS next
FROM settings WHERE key = 'events.removed-through'`

/** `removed`: the last removed event, everything after it is still there. `next`: no event lies there or after yet. */
export async function readOutboxBounds(db: Queryable): Promise<{ removed: EventCursor; next: EventCursor }> {
  const { xid, id, next } = (await db.query<{ xid: string; id: string; next: string }>(SQL)).rows[0]!
  return { removed: { xid: BigInt(xid), id: BigInt(id) }, next: { xid: BigInt(next), id: 0n } }
}
