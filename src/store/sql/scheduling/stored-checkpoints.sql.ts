import { SHIPPED_POLICY } from '../../../domain/retry/policy/policy.ts'
import type { StoredCheckpoint } from '../../../domain/scheduling/checkpoint-placement.ts'
import type { Queryable } from '../../database.ts'

/** Indexes: the primary keys. Agents of all groups are looked through once for each store. */
const SQL = `
SELECT s.id, c.attempt, wish.checkpoint = 'REQUIRE' AND c.relay_attempt IS DISTINCT FROM c.attempt AS "isRequired", wish.wait * 1000 AS "waitMaxMs",
  extract(epoch FROM reprise_now() - s.created_at)::float8 * 1000 AS "waitedMs",
  coalesce((SELECT json_agg(json_build_object('id', a.id, 'name', a.name, 'status', a.status,
      'isOpen', a.status = 'ALIVE' AND a.refuses IS NULL AND a.resource_group = s.resource_group)
      ORDER BY a.status = 'ALIVE' AND a.refuses IS NULL AND a.resource_group = s.resource_group DESC, a.status, a.last_heard_at DESC)
    FROM agents a WHERE a.chain_store = c.store AND a.status <> 'TERMINATED'), '[]') AS agents
FROM sessions s JOIN checkpoints c ON c.chain_id = s.chain_id
CROSS JOIN LATERAL (SELECT coalesce(s.retry_policy ->> 'checkpoint', $2) AS checkpoint,
  coalesce((s.retry_policy ->> 'checkpointWait')::float8, $3) AS wait) AS wish
WHERE s.id = ANY($1::uuid[]) AND c.store IS NOT NULL AND c.dropped_at IS NULL AND c.files IS DISTINCT FROM 0
  AND wish.checkpoint <> 'IGNORE'`

/** By session; those that have none, or do not want it, are missing. First attempts have none. */
export async function readStoredCheckpoints(
  db: Queryable,
  sessions: readonly { id: string; attempt: number }[],
): Promise<Map<string, StoredCheckpoint>> {
  const ids = sessions.filter(({ attempt }) => attempt > 1).map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const { checkpoint, checkpointWait } = SHIPPED_POLICY
  const { rows } = await db.query<StoredCheckpoint & { id: string }>(SQL, [ids, checkpoint, checkpointWait])
  return new Map(rows.map(({ id, ...stored }) => [id, stored]))
}
