import type { AttemptSpec } from '../../../domain/chain/spec-difference.ts'
import type { Queryable } from '../../database.ts'
import { specOf } from './read-chain-changes.sql.ts'

export interface EpochRow {
  chainId: string
  epoch: number
  /** The epoch's first attempt. */
  sessionId: string
  attempt: number
  createdAt: Date
  /** Null if unknown. */
  actor: string | null
  resubmissionId: string | null
  overrides: Record<string, unknown> | null
  /** Of the attempt before, if there are overrides. */
  specBefore: AttemptSpec | null
}

/**
 * The first attempts of epochs, oldest first, with who asked for them, with which overrides, and what the spec was before those. Index:
 * resubmission_items_child_session_id_key.
 */
const SQL = `
SELECT c.chain_id AS "chainId", s.epoch, s.id AS "sessionId", s.attempt, s.created_at AS "createdAt",
  coalesce(r.actor, s.created_by, u.name) AS actor, r.id AS "resubmissionId", r.overrides,
  CASE WHEN r.overrides IS NOT NULL AND r.overrides <> '{}' THEN ${specOf('p')} END AS "specBefore"
FROM chains c CROSS JOIN LATERAL (
  SELECT * FROM sessions
  WHERE chain_id = c.chain_id AND project_id = c.project_id AND origin <> 'AUTO_RETRY' ORDER BY attempt LIMIT $2) AS s
LEFT JOIN users u ON u.id = s.user_id
LEFT JOIN resubmission_items i ON i.child_session_id = s.id
LEFT JOIN resubmissions r ON r.id = i.resubmission_id
LEFT JOIN sessions p ON p.id = s.parent_session_id AND p.project_id = c.project_id AND r.id IS NOT NULL
WHERE c.chain_id = ANY($1::uuid[])
ORDER BY c.chain_id, s.attempt`

export async function readChainEpochs(db: Queryable, chainIds: readonly string[], limit: number): Promise<EpochRow[]> {
  return (await db.query<EpochRow>(SQL, [chainIds, limit])).rows
}
