import type { Lease } from '../../../domain/agent/lease.ts'
import type { Queryable } from '../../database.ts'
import { LOST_KERNEL_COLUMNS } from '../session/lost-kernel-columns.sql.ts'

/**
 * Moves silent agents ALIVE → SUSPECT → LOST by the database's clock, as long as a server is running that could hear
 * them. Kernels that ran on a lost agent have failed; those that had not started get the error and are left to the
 * handler in charge. Nobody has confirmed that any of them is gone.
 * Index: kernels_on_agent. Locks: agents, then kernels in id order.
 */
const SQL = `
WITH silent AS (
  SELECT id, status AS "from", CASE WHEN silence > make_interval(secs => $2 / 1000.0) THEN 'LOST'::agent_status
    ELSE 'SUSPECT' END AS "to", round(extract(epoch FROM silence)) AS seconds
  FROM agents, LATERAL (SELECT reprise_now() - greatest(last_heard_at, lease_from) AS silence) AS s
  WHERE status IN ('ALIVE', 'SUSPECT', 'DRAINING') AND silence > make_interval(secs => $1 / 1000.0)
    AND (embedded OR EXISTS (SELECT FROM servers
      WHERE 'api' = ANY(roles) AND last_seen_at > reprise_now() - make_interval(secs => $3 / 1000.0)))
  FOR UPDATE OF agents SKIP LOCKED
), changed AS (
  UPDATE agents a SET status = silent."to" FROM silent
  WHERE a.id = silent.id AND a.status <> silent."to" AND NOT (a.status = 'DRAINING' AND silent."to" = 'SUSPECT')
  RETURNING a.id, a.name, silent."from", silent."to", silent.seconds
), locked AS (
  SELECT k.id, c.name, c.seconds FROM kernels k JOIN changed c ON c.id = k.agent_id AND c."to" = 'LOST'
  WHERE (k.slots_held OR NOT k.confirmed_gone) AND k.status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')
  ORDER BY k.id FOR NO KEY UPDATE OF k
), failed AS (
  UPDATE kernels k SET
    ${LOST_KERNEL_COLUMNS},
    error = coalesce(k.error, jsonb_build_object('name', 'agent-lost', 'agentId', k.agent_id,
      'message', 'agent ' || l.name || ' was silent for ' || l.seconds || ' s'))
  FROM locked l WHERE k.id = l.id
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'AGENT', id, 'watch-agents', "from"::text, "to"::text, 'EXPIRED', 'silent for ' || seconds || ' s' FROM changed
)
SELECT id, name, "to" AS status, seconds::int AS "silentSeconds" FROM changed`

export interface SilentAgent {
  id: string
  name: string
  status: 'SUSPECT' | 'LOST'
  silentSeconds: number
}

/** Returns the agents whose status changed. */
export async function updateSilentAgents(db: Queryable, lease: Lease): Promise<SilentAgent[]> {
  const values = [lease.suspectAfterMs, lease.lostAfterMs, lease.outageAfterMs]
  return (await db.query<SilentAgent>(SQL, values)).rows
}
