import type { KernelStatus, SessionStatus } from '../../../domain/session/lifecycle.ts'
import type { Queryable } from '../../database.ts'

/** A kernel of a session, and the agent that runs it. */
export interface ChannelKernel {
  projectId: string
  sessionStatus: SessionStatus
  kernelId: string
  /** `main1`, `sub1`, … */
  name: string
  status: KernelStatus
  assignment: number
  agentId: string | null
  agentName: string | null
  agentStatus: string | null
}

const KERNELS_SQL = `
SELECT s.project_id AS "projectId", s.status AS "sessionStatus", k.id AS "kernelId", k.role || k.index AS name, k.status,
  k.assignment, k.agent_id AS "agentId", a.name AS "agentName", a.status::text AS "agentStatus"
FROM sessions s JOIN kernels k ON k.session_id = s.id LEFT JOIN agents a ON a.id = k.agent_id
WHERE s.id = $1 AND ($2::uuid IS NULL OR s.project_id = $2)
ORDER BY k.role, k.index`

/** Reads the kernels of a session that this viewer may see; otherwise none. */
export async function readChannelKernels(
  db: Queryable,
  sessionId: string,
  visibleProjectId: string | null,
): Promise<ChannelKernel[]> {
  return (await db.query<ChannelKernel>(KERNELS_SQL, [sessionId, visibleProjectId])).rows
}

/**
 * Announces a channel to an agent, so that any server that the agent contacts next passes it on. Announcements of a
 * killed server expire; the next announcement removes them.
 */
const ANNOUNCE_SQL = `
WITH expired AS (DELETE FROM channels WHERE expires_at < reprise_now())
INSERT INTO channels (id, agent_id, secret, url, expires_at)
VALUES ($1, $2, $3, $4, reprise_now() + make_interval(secs => $5 / 1000.0))`

export async function announceChannel(
  db: Queryable,
  channel: { channelId: string; agentId: string; secret: string; url: string | null; withinMs: number },
): Promise<void> {
  const { channelId, agentId, secret, url, withinMs } = channel
  await db.query(ANNOUNCE_SQL, [channelId, agentId, secret, url, withinMs])
}

export async function withdrawChannel(db: Queryable, channelId: string): Promise<void> {
  await db.query('DELETE FROM channels WHERE id = $1', [channelId])
}
