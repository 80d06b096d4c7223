import type { AgentSelector } from '../../../domain/scheduling/agent-pool.ts'
import type { Sequencer } from '../../../domain/scheduling/sequence.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import type { HoldReason } from '../../../domain/session/failure.ts'

export interface PendingGroup {
  name: string
  sequencer: Sequencer
  selector: AgentSelector
  /** Whether its sessions can expire in PENDING. */
  expires: boolean
  /** Why nothing new is scheduled in the group, as text; null if it is not drained. */
  drained: string | null
}

/** The reason why nothing new is scheduled in `resource_groups g`, as text; null if it is not drained. */
export const DRAINED = `CASE WHEN g.drained_at IS NOT NULL
    THEN concat_ws(': ', 'resource group ' || g.name || ' is being drained', g.drain_reason) END`

const HAS_LIMITED = `EXISTS (SELECT FROM sessions s
    WHERE s.resource_group = g.name AND s.status = 'PENDING' AND s.max_pending IS NOT NULL)`

/** One probe of the indexes sessions_pending and sessions_max_pending per group, however long its line. */
const GROUPS_SQL = keepsPlan(`
SELECT g.name, g.sequencer, g.selector, g.pending_timeout_ms IS NOT NULL OR ${HAS_LIMITED} AS expires,
  ${DRAINED} AS drained
FROM resource_groups g
WHERE g.pending_timeout_ms IS NOT NULL OR ${HAS_LIMITED} OR EXISTS (
  SELECT FROM sessions s WHERE s.resource_group = g.name AND s.status = 'PENDING' AND s.next_try_at IS NULL)
ORDER BY g.name`)

/** Reads groups with sessions in line, and groups whose sessions can expire although none is in line. */
export async function groupsWithPending(db: Queryable): Promise<PendingGroup[]> {
  return (await db.query<PendingGroup>(GROUPS_SQL)).rows
}

const untilMs = (time: string) =>
  `CASE WHEN ${time} IS NOT NULL THEN greatest(0, ceil(extract(epoch FROM ${time} - reprise_now()) * 1000))::float8 END`

const NEXT_SQL = keepsPlan(`
SELECT ${untilMs('next_try_at')} AS "nextInMs", ${untilMs('key_due_at')} AS "keyDueInMs"
FROM (SELECT min(due_at) AS key_due_at FROM freed_concurrency_keys) AS freed LEFT JOIN (
  SELECT next_try_at FROM sessions WHERE status = 'PENDING' AND next_try_at IS NOT NULL ORDER BY next_try_at LIMIT 1) AS next
  ON true`)

/** Puts sessions whose pause is over back into line. Index: sessions_resting. */
const REQUEUE_SQL = `
WITH due AS (
  SELECT id FROM sessions WHERE status = 'PENDING' AND next_try_at <= reprise_now()
  ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE sessions s SET next_try_at = NULL FROM due WHERE s.id = due.id`

export interface Requeued {
  /** Number of sessions that went back. */
  requeued: number
  /** Milliseconds until the next one will go back. */
  nextInMs: number | null
  /** Milliseconds until a concurrency key may have places to offer. */
  keyDueInMs: number | null
}

export async function requeueRested(db: Queryable, limit: number): Promise<Requeued> {
  const next = await readNext(db)
  if (next.nextInMs !== 0) return { requeued: 0, ...next }
  const { rowCount } = await db.query(REQUEUE_SQL, [limit])
  return { requeued: rowCount ?? 0, ...(await readNext(db)) }
}

async function readNext(db: Queryable): Promise<Omit<Requeued, 'requeued'>> {
  return (await db.query<Omit<Requeued, 'requeued'>>(NEXT_SQL)).rows[0]!
}

/** Index: retry_decisions_held, one probe per line. */
const SQL = `
SELECT i.project_id AS "projectId", i.reason, line.ends AS "endsInMs"
FROM unnest($1::uuid[], $2::hold_reason[]) AS i(project_id, reason), LATERAL (
  SELECT greatest(0, extract(epoch FROM d.ready_at - reprise_clock()) * 1000)::float8 AS ends FROM retry_decisions d
  WHERE d.phase = 'HELD' AND d.project_id = i.project_id AND d.hold_reason = i.reason
  ORDER BY d.ready_at DESC LIMIT 1) AS line`

interface Line {
  projectId: string
  reason: HoldReason
}

/**
 * Reads when the last retry of each line of held retries is due, in ms from now; lines that do not exist are missing.
 */
export async function readLineEnds(tx: Queryable, lines: readonly Line[]): Promise<(Line & { endsInMs: number })[]> {
  if (lines.length === 0) return []
  const columns = [lines.map(({ projectId }) => projectId), lines.map(({ reason }) => reason)]
  return (await tx.query<Line & { endsInMs: number }>(SQL, columns)).rows
}
