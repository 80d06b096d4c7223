import type { Queryable } from '../../database.ts'

/** The present state of an agent, a resubmission, or the progress of a running session, as a digest. */
export interface StateDigest {
  kind: 'AGENT' | 'RESUBMISSION' | 'PROGRESS'
  /** For progress, that of the session. */
  id: string
  /** The project of a session or resubmission; null if it covers all projects, and for agents. */
  projectId: string | null
  /** Set for progress. */
  chainId: string | null
  /** Changes whenever there is something new to show. */
  digest: string
}

/**
 * Reads what changes without an event: all agents, resubmissions that run or are recent, and sessions whose programs
 * have told progress within the last seconds. A heartbeat alone does not change an agent's digest. About 3 µs for each
 * agent. Indexes: resubmissions_running, resubmissions(created_at, id), kernels_progress.
 */
const SQL = `
SELECT 'AGENT' AS kind, a.id, NULL::uuid AS "projectId", NULL::uuid AS "chainId", hashtextextended(row(a.name, a.resource_group, a.address, a.version, a.status,
  a.labels, a.drained_at, a.drain_reason, a.isolation, a.refuses,
  (SELECT array_agg((s.slot, s.capacity, s.used) ORDER BY s.slot) FROM agent_slots s WHERE s.agent_id = a.id))::text, 0)::text AS digest
FROM agents a
UNION ALL
SELECT 'RESUBMISSION', r.id, r.project_id, NULL, concat_ws(' ', r.state, r.done, r.refused)
FROM resubmissions r WHERE r.id IN (
  SELECT id FROM resubmissions WHERE state = 'RUNNING'
  UNION (SELECT id FROM resubmissions WHERE created_at > reprise_now() - interval '10 minutes' ORDER BY created_at DESC LIMIT $1))
UNION ALL
SELECT 'PROGRESS', s.id, s.project_id, s.chain_id, max(p.progress_at)::text
FROM (SELECT k.session_id, k.progress_at FROM kernels k WHERE k.progress_at > reprise_now() - interval '10 seconds'
  ORDER BY k.progress_at DESC LIMIT $1) AS p JOIN sessions s ON s.id = p.session_id GROUP BY s.id`

export async function readStateDigests(db: Queryable, youngMax: number): Promise<StateDigest[]> {
  return (await db.query<StateDigest>(SQL, [youngMax])).rows
}
