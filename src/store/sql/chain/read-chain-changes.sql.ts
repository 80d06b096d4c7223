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

/** Of what ran; null where it is not known. */
const OTHER_IMAGE = 's.image_digest <> p.image_digest'

/** An `AttemptSpec` of a session. */
export const specOf = (row: string, more: readonly string[] = []) => {
  const fields = SPEC_FIELDS.map((field) => `'${field}', ${row}.${SESSION_COLUMNS[field].column}`)
  return `json_build_object(${[...fields, ...more].join(', ')})`
}

const withImage = (row: string) => specOf(row, [`'imageDigest', CASE WHEN ${OTHER_IMAGE} THEN ${row}.image_digest END`])

const DIFFERS = SPEC_FIELDS.map((field) => SESSION_COLUMNS[field].column)
  .map((column) => `s.${column} IS DISTINCT FROM p.${column}`)
  .join(' OR ')

const CHANGED = `
  FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
  WHERE s.chain_id = c.chain_id AND s.project_id = c.project_id AND p.project_id = c.project_id AND (${DIFFERS} OR ${OTHER_IMAGE})`

/**
 * Attempts whose spec, or image, differs from the attempt before, with both specs. 1,000 attempts without a change take about 5
 * ms.
 */
const CHANGES_SQL = `
SELECT c.chain_id AS "chainId", changed.* FROM chains c CROSS JOIN LATERAL (
  SELECT s.attempt::text AS id, s.id AS "sessionId", ${withImage('p')} AS before, ${withImage('s')} AS after ${CHANGED}
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
