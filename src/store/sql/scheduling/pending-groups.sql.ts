import type { AgentSelector } from '../../../domain/scheduling/select-agent.ts'
import type { Sequencer } from '../../../domain/scheduling/sequence.ts'
import type { Queryable } from '../../database.ts'

export interface PendingGroup {
  name: string
  sequencer: Sequencer
  selector: AgentSelector
  /** Whether its sessions can expire in PENDING. */
  expires: boolean
  /** Why nothing new is scheduled in it, in words; null if it is not drained. */
  drained: string | null
}

/** From `resource_groups g`: why nothing new is scheduled in the group, in words; null if it is not drained. */
export const DRAINED = `CASE WHEN g.drained_at IS NOT NULL
    THEN concat_ws(': ', 'resource group ' || g.name || ' is being drained', g.drain_reason) END`

/** One probe of the index sessions_pending per group, however long its line. */
const GROUPS_SQL = `
SELECT g.name, g.sequencer, g.selector, g.pending_timeout_ms IS NOT NULL AS expires,
  ${DRAINED} AS drained
FROM resource_groups g
WHERE g.pending_timeout_ms IS NOT NULL OR EXISTS (
  SELECT FROM sessions s WHERE s.resource_group = g.name AND s.status = 'PENDING' AND s.next_try_at IS NULL)
ORDER BY g.name`

/** Groups with sessions in line, and groups whose sessions can expire although none is in line. */
export async function groupsWithPending(db: Queryable): Promise<PendingGroup[]> {
  return (await db.query<PendingGroup>(GROUPS_SQL)).rows
}

const NEXT_SQL = `
SELECT greatest(0, ceil(extract(epoch FROM next_try_at - now()) * 1000))::float8 AS "nextInMs"
FROM sessions WHERE status = 'PENDING' AND next_try_at IS NOT NULL ORDER BY next_try_at LIMIT 1`

/** Puts sessions whose rest is over back into line. Index: sessions_resting. */
const REQUEUE_SQL = `
WITH due AS (
  SELECT id FROM sessions WHERE status = 'PENDING' AND next_try_at <= now()
  ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE sessions s SET next_try_at = NULL FROM due WHERE s.id = due.id`

/** How many went back, and in how many milliseconds the next one will. */
export async function requeueRested(
  db: Queryable,
  limit: number,
): Promise<{ requeued: number; nextInMs: number | null }> {
  const nextInMs = await nextRestEndsInMs(db)
  if (nextInMs !== 0) return { requeued: 0, nextInMs }
  const { rowCount } = await db.query(REQUEUE_SQL, [limit])
  return { requeued: rowCount ?? 0, nextInMs: await nextRestEndsInMs(db) }
}

async function nextRestEndsInMs(db: Queryable): Promise<number | null> {
  return (await db.query<{ nextInMs: number }>(NEXT_SQL)).rows[0]?.nextInMs ?? null
}
