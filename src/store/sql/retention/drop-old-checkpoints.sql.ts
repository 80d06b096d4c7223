import type { Retention } from '../../../domain/retention.ts'
import type { Queryable } from '../../database.ts'

/**
 * Drops the checkpoints of chains that have been over for long, with one of these outcomes; at most $3. From then on
 * their directories are those of a generation that is over, which agents remove when they next report them. Looks at
 * the directories that agents have reported, whether or not what is in them is on record: an attempt whose agent died
 * left something, too.
 *
 * Locks, without waiting: chains, whose state is looked at again once they are locked, and the sessions to which their
 * checkpoints refer; then checkpoints. A chain that goes on is LIVE from the transaction on that creates its attempt,
 * before any agent hears of that, and the attempt gets the directory of the generation that is then on record: nobody
 * removes that one. Rows: one for each directory. Indexes: primary keys, sessions(chain_id, attempt),
 * kernels(session_id).
 */
const SQL = `
WITH old AS MATERIALIZED (
  SELECT c.chain_id, c.project_id FROM chains c JOIN sessions root ON root.id = c.chain_id
  WHERE c.chain_id IN (SELECT chain_id FROM chain_directories
      UNION SELECT chain_id FROM checkpoints WHERE relay_attempt IS NOT NULL)
    AND c.state = ANY($1::chain_state[]) AND c.ended_at < reprise_now() - make_interval(secs => $2)
    AND NOT EXISTS (SELECT FROM checkpoints p WHERE p.chain_id = c.chain_id AND p.dropped_at >= c.ended_at)
    AND NOT EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = c.chain_id AND NOT k.confirmed_gone)
  LIMIT $3 FOR NO KEY UPDATE OF c SKIP LOCKED FOR KEY SHARE OF root SKIP LOCKED
)
INSERT INTO checkpoints AS p (chain_id, project_id, generation, dropped_at)
SELECT chain_id, project_id, 1, reprise_now() FROM old ORDER BY chain_id
ON CONFLICT (chain_id) DO UPDATE SET generation = p.generation + 1, dropped_at = excluded.dropped_at, relay_attempt = NULL, relay_sha256 = NULL,
  relay_bytes = NULL, relay_at = NULL`

/** @returns how many were dropped */
export async function dropOldCheckpoints(
  db: Queryable,
  outcomes: readonly ('SUCCEEDED' | 'FAILED' | 'CANCELLED')[],
  { ageSeconds }: Retention,
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [outcomes, ageSeconds, limit])).rowCount ?? 0
}
