import { encodeCursor } from '../domain/events.ts'
import { readHorizon } from '../store/sql/read-events.sql.ts'
import type { ServiceContext } from './service-context.ts'

/** A cursor behind which everything comes that is committed from now on, and perhaps a little of what just was. */
export async function readEventCursor({ db }: ServiceContext): Promise<string> {
  return encodeCursor(await readHorizon(db))
}
