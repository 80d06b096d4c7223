import type { CheckpointShortage } from '../../../domain/quota/checkpoint-shortage.ts'
import type { Queryable } from '../../database.ts'

/**
 * The bytes of all checkpoints that count against `q (scope, scope_id)`: their last measured sizes. A user's are those of
 * the chains that the user began. Indexes: checkpoints_project_id_idx, and for users the primary keys. About 1 ms for
 * 10,000 checkpoints of a project.
 */
export const CHECKPOINT_BYTES = `(SELECT coalesce(sum(bytes), 0)::float8 FROM (
  SELECT p.bytes FROM checkpoints p WHERE q.scope = 'PROJECT' AND p.project_id = q.scope_id AND p.dropped_at IS NULL
  UNION ALL
  SELECT p.bytes FROM projects own JOIN checkpoints p ON p.project_id = own.id AND p.dropped_at IS NULL
  WHERE q.scope = 'DOMAIN' AND own.domain_id = q.scope_id
  UNION ALL
  SELECT p.bytes FROM checkpoints p JOIN sessions root ON root.id = p.chain_id AND root.user_id = q.scope_id
  WHERE q.scope = 'USER' AND p.dropped_at IS NULL) AS p)`

const ANY_SQL = `SELECT FROM resource_policies WHERE max_checkpoint_bytes IS NOT NULL LIMIT 1`

/** A session may be under several such quotas: the first in key order counts. */
const SQL = `
WITH spent AS MATERIALIZED (
  SELECT * FROM (
    SELECT q.scope, q.scope_id, coalesce(u.name, p.name, d.name) AS name, ${CHECKPOINT_BYTES} AS bytes,
      q.max_checkpoint_bytes::float8 AS "maxBytes"
    FROM resource_policies q
    LEFT JOIN users u ON q.scope = 'USER' AND u.id = q.scope_id
    LEFT JOIN projects p ON q.scope = 'PROJECT' AND p.id = q.scope_id
    LEFT JOIN domains d ON q.scope = 'DOMAIN' AND d.id = q.scope_id
    WHERE q.max_checkpoint_bytes IS NOT NULL) AS q
  WHERE bytes >= "maxBytes"
)
SELECT s.id, q.scope, q.name, q.bytes, q."maxBytes"
FROM sessions s JOIN projects own ON own.id = s.project_id CROSS JOIN LATERAL (
  SELECT * FROM spent q WHERE q.scope = 'PROJECT' AND q.scope_id = s.project_id
    OR q.scope = 'USER' AND q.scope_id = s.user_id OR q.scope = 'DOMAIN' AND q.scope_id = own.domain_id
  ORDER BY q.scope, q.scope_id LIMIT 1) AS q
WHERE s.id = ANY($1::uuid[]) AND s.attempt = 1 AND s.session_type <> 'INFERENCE'`

/**
 * Which of these sessions may not begin a chain yet, by id. What goes on with a checkpoint may: that is how it comes to
 * be dropped. Locks nothing: what will be stored is not known in advance.
 */
export async function readCheckpointShortages(
  db: Queryable,
  sessions: readonly { id: string; attempt: number }[],
): Promise<Map<string, CheckpointShortage>> {
  const ids = sessions.filter(({ attempt }) => attempt === 1).map(({ id }) => id)
  if (ids.length === 0 || (await db.query(ANY_SQL)).rows.length === 0) return new Map()
  const { rows } = await db.query<CheckpointShortage & { id: string }>(SQL, [ids])
  return new Map(rows.map(({ id, ...shortage }) => [id, shortage]))
}
