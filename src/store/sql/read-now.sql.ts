import type { Queryable } from '../database.ts'

const SQL = 'SELECT reprise_now() AS now'

export async function readNow(db: Queryable): Promise<Date> {
  return (await db.query<{ now: Date }>(SQL)).rows[0]!.now
}
