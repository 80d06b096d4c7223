import type { Queryable } from '../database.ts'

/**
 * Agents that are gone since before $1, and since before the oldest session that is kept: their kernels were of older
 * ones, so none is left. One that a person drains is remembered. Slots go with them.
 * Indexes: sessions(created_at, id); agents, which are few, are read. The foreign key has kernels read for each.
 */
const SQL = `
DELETE FROM agents WHERE id IN (
  SELECT a.id FROM agents a
  WHERE a.status IN ('LOST', 'TERMINATED') AND a.drained_at IS NULL AND greatest(a.last_heard_at, a.lease_from) < least($1,
    (SELECT created_at FROM sessions ORDER BY created_at, id LIMIT 1) - interval '1 hour')
  ORDER BY a.last_heard_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

export async function removeOldAgents(db: Queryable, before: Date, limit: number): Promise<number> {
  return (await db.query(SQL, [before, limit])).rowCount ?? 0
}
