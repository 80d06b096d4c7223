import type { Queryable } from '../database.ts'

const NOW_SQL = 'SELECT now() AS now'

export async function readNow(db: Queryable): Promise<Date> {
  return (await db.query<{ now: Date }>(NOW_SQL)).rows[0]!.now
}
