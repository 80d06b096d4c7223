import type { Queryable } from '../database.ts'

/**
 * Records that this server is running. The first server to do so after an outage gives every agent a full lease,
 * because during the outage nobody could hear the agents. Agents that run as their own processes are heard only by
 * servers with the api role, so their leases restart when the first of those is back, whatever other servers were
 * running; an embedded agent only ever talks to its own process. Returns true if no server at all had been running.
 */
const SQL = `
WITH absent AS (
  SELECT coalesce(max(last_seen_at) < reprise_now() - make_interval(secs => $5 / 1000.0), true) AS everybody,
    coalesce(max(last_seen_at) FILTER (WHERE 'api' = ANY(roles)) < reprise_now() - make_interval(secs => $5 / 1000.0), true)
      AND 'api' = ANY($4::text[]) AS apis
  FROM servers
), present AS (
  INSERT INTO servers (id, host, pid, roles) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO UPDATE SET last_seen_at = reprise_now()
), forgotten AS (
  DELETE FROM servers WHERE last_seen_at < reprise_now() - interval '1 day' AND id <> $1
), graced AS (
  UPDATE agents SET lease_from = reprise_now(), status = CASE WHEN status = 'SUSPECT' THEN 'ALIVE' ELSE status END
  WHERE status IN ('ALIVE', 'SUSPECT', 'DRAINING')
    AND (SELECT CASE WHEN embedded THEN everybody ELSE apis END FROM absent)
)
SELECT everybody AS "afterOutage" FROM absent`

export interface ServerIdentity {
  id: string
  host: string
  pid: number
  roles: string[]
}

export async function recordPresence(db: Queryable, server: ServerIdentity, outageAfterMs: number): Promise<boolean> {
  const values = [server.id, server.host, server.pid, server.roles, outageAfterMs]
  return (await db.query<{ afterOutage: boolean }>(SQL, values)).rows[0]!.afterOutage
}

const REMOVE_SQL = `DELETE FROM servers WHERE id = $1`

export async function removePresence(db: Queryable, serverId: string): Promise<void> {
  await db.query(REMOVE_SQL, [serverId])
}
