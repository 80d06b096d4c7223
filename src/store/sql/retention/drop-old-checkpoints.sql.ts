import type { Queryable } from '../../database.ts'

/**
 * Drops the checkpoints of chains that have been over for long, by their outcome; at most $3. From then on their
 * directories are those of a generation that is over, which agents remove when they next report them.
 *
 * Locks: chains, whose state is looked at again once it is locked; then checkpoints. A chain that goes on is LIVE before
 * any agent hears of its attempt, and the attempt gets the directory of the generation that is then on record: nobody
 * removes that one.
 */
const SQL = `
WITH old AS MATERIALIZED (
  SELECT c.chain_id FROM chains c JOIN checkpoints p USING (chain_id)
  WHERE p.attempt IS NOT NULL AND p.dropped_at IS NULL
    AND CASE c.state WHEN 'SUCCEEDED' THEN c.ended_at < now() - make_interval(secs => $1)
      WHEN 'FAILED' THEN c.ended_at < now() - make_interval(secs => $2)
      WHEN 'CANCELLED' THEN c.ended_at < now() - make_interval(secs => $2) END
    AND NOT EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = c.chain_id AND NOT k.confirmed_gone)
  LIMIT $3 FOR UPDATE OF c SKIP LOCKED
)
UPDATE checkpoints p SET generation = p.generation + 1, dropped_at = now()
FROM old WHERE p.chain_id = old.chain_id AND p.dropped_at IS NULL`

/** Null: for ever. Returns how many were dropped. */
export async function dropOldCheckpoints(
  db: Queryable,
  { succeededSeconds, failedSeconds }: { succeededSeconds: number | null; failedSeconds: number | null },
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [succeededSeconds, failedSeconds, limit])).rowCount ?? 0
}
