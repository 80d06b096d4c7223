import type { Queryable } from '../../database.ts'

/**
 * Deletes agents gone since before $1 and since before the oldest kept session: their kernels belonged to older
 * sessions, so none is left. Agents that a person is draining are kept. Slots are deleted with their agents.
 * Indexes: sessions(created_at, id); agents, which are few, are scanned. The foreign key makes each deletion read
 * kernels.
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
