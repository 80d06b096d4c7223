import { encodeCursor } from '../../domain/event-cursor.ts'
import { readHorizon } from '../../store/sql/event/read-events.sql.ts'
import { readNow as read } from '../../store/sql/read-now.sql.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * A cursor before everything that is committed from now on. A few events that were committed just now may follow it,
 * too.
 */
export async function readEventCursor({ db }: ServiceContext): Promise<string> {
  return encodeCursor(await readHorizon(db))
}

/** By the database's clock. */
export function readNow({ db }: Pick<ServiceContext, 'db'>): Promise<Date> {
  return read(db)
}
