import type { EventCursor } from '../../domain/event-cursor.ts'
import type { Queryable } from '../database.ts'

const SQL = `
SELECT value ->> 'xid' AS xid, value ->> 'id' AS id FROM settings WHERE key = 'events.removed-through'`

/** The last removed event: everything after it is still there. */
export async function readRemovedThrough(db: Queryable): Promise<EventCursor> {
  const { xid, id } = (await db.query<{ xid: string; id: string }>(SQL)).rows[0]!
  return { xid: BigInt(xid), id: BigInt(id) }
}
