import type { Queryable } from '../../database.ts'

/** Agents that may run something, and run it without isolation. A lost one comes back with what it has then. */
const OPEN_SQL = `
SELECT name FROM agents
WHERE isolation = 'none' AND NOT isolation_by_hand AND status NOT IN ('LOST', 'TERMINATED')
ORDER BY name LIMIT 1`

/** Null if there is none. One on which somebody has configured it so does not count. */
export async function findOpenAgent(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ name: string }>(OPEN_SQL)
  return rows[0]?.name ?? null
}

const RISK_SQL = `
SELECT count(*)::int AS agents FROM agents
WHERE isolation = 'none' AND status NOT IN ('LOST', 'TERMINATED') AND EXISTS (
  SELECT FROM api_tokens WHERE role NOT IN ('ADMIN', 'AGENT') AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > reprise_now()))`

/** The number of agents without isolation; 0 as long as nobody but administrators has a token. */
export async function countAgentsAtRisk(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ agents: number }>(RISK_SQL)
  return rows[0]!.agents
}
