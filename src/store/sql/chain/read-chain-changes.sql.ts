import type { AttemptSpec } from '../../../domain/chain/spec-difference.ts'
import type { Queryable } from '../../database.ts'
import { SESSION_COLUMNS, SPEC_FIELDS } from '../session/session-columns.sql.ts'

export interface AttemptRow {
  chainId: string
  /** The attempt's number, in decimal. */
  id: string
  sessionId: string
}

export interface ChangeRow extends AttemptRow {
  before: AttemptSpec
  after: AttemptSpec
}

/** An `AttemptSpec` of a session. */
export const specOf = (row: string) =>
  `json_build_object(${SPEC_FIELDS.map((field) => `'${field}', ${row}.${SESSION_COLUMNS[field].column}`).join(', ')})`

const DIFFERS = SPEC_FIELDS.map((field) => SESSION_COLUMNS[field].column)
  .map((column) => `s.${column} IS DISTINCT FROM p.${column}`)
  .join(' OR ')

const CHANGED = `
  FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
  WHERE s.chain_id = c.chain_id AND s.project_id = c.project_id AND p.project_id = c.project_id AND (${DIFFERS})`

/**
 * Attempts whose spec differs from the attempt before, with both specs. 1,000 attempts without a change take about 5
 * ms.
 */
const CHANGES_SQL = `
SELECT c.chain_id AS "chainId", changed.* FROM chains c CROSS JOIN LATERAL (
  SELECT s.attempt::text AS id, s.id AS "sessionId", ${specOf('p')} AS before, ${specOf('s')} AS after ${CHANGED}
    AND s.attempt > $2::int
  ORDER BY s.attempt LIMIT $3) AS changed
WHERE c.chain_id = ANY($1::uuid[])
ORDER BY c.chain_id, changed.id::int`

export async function readChainChanges(
  db: Queryable,
  chainIds: readonly string[],
  after: string,
  limit: number,
): Promise<ChangeRow[]> {
  return (await db.query<ChangeRow>(CHANGES_SQL, [chainIds, after, limit])).rows
}

const COUNT_SQL = `
SELECT c.chain_id AS id, (SELECT count(*) ${CHANGED}) AS count FROM chains c WHERE c.chain_id = ANY($1::uuid[])`

export async function countChainChanges(db: Queryable, chainIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [chainIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
