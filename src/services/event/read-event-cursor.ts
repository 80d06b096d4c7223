import { encodeCursor } from '../../domain/event-cursor.ts'
import { readHorizon } from '../../store/sql/event/read-events.sql.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * A cursor before everything that is committed from now on. A few events that were committed just now may follow it,
 * too.
 */
export async function readEventCursor({ db }: ServiceContext): Promise<string> {
  return encodeCursor(await readHorizon(db))
}
