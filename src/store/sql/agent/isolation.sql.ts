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
