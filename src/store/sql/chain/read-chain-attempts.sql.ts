import type { Queryable } from '../../database.ts'

/** A page of one chain's attempts: at most `limit` after attempt number `after`. */
export interface AttemptWindow {
  chainId: string
  after: number
  limit: number
}

/** Oldest first, for each of many windows, which may differ in size. Index: sessions_chain_id_attempt_key. */
const SQL = `
SELECT w.number, s.id AS "sessionId"
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w(chain_id, after, size, number)
JOIN chains c ON c.chain_id = w.chain_id
CROSS JOIN LATERAL (
  SELECT id, attempt FROM sessions
  WHERE chain_id = w.chain_id AND attempt > w.after AND project_id = c.project_id ORDER BY attempt LIMIT w.size) AS s
ORDER BY w.number, s.attempt`

/** Session ids for each window, in the order of the windows. */
export async function readChainAttempts(db: Queryable, windows: readonly AttemptWindow[]): Promise<string[][]> {
  const columns = (['chainId', 'after', 'limit'] as const).map((name) => windows.map((window) => window[name]))
  const { rows } = await db.query<{ number: number; sessionId: string }>(SQL, columns)
  const found = Map.groupBy(rows, ({ number }) => number)
  return windows.map((_window, index) => (found.get(index + 1) ?? []).map(({ sessionId }) => sessionId))
}
