import type { Queryable } from '../../database.ts'

/** What an agent says of a kernel that it prepares. */
export interface ToldImage {
  kernelId: string
  assignment: number
  /** `sha256:…` */
  digest: string
}

/** Of a kernel's session. */
export interface KernelImage {
  kernelId: string
  /** What it runs; null if no agent has told it yet. */
  recorded: string | null
  /** What it has to run; null for what the name stands for. */
  required: string | null
}

const READ_SQL = `
SELECT k.id AS "kernelId", s.image_digest AS recorded, s.required_image_digest AS required
FROM kernels k JOIN sessions s ON s.id = k.session_id
WHERE k.id = ANY($1::uuid[]) AND k.agent_id = $2`

/** Of the kernels that are this agent's. */
export async function readImageDigests(
  db: Queryable,
  agentId: string,
  told: readonly ToldImage[],
): Promise<KernelImage[]> {
  const ids = told.map(({ kernelId }) => kernelId)
  return (await db.query<KernelImage>(READ_SQL, [ids, agentId])).rows
}

/**
 * Records what sessions run: once, by the first of their agents that tells, and only by one whose kernel it is at present.
 * The others run the same then. Two that tell at once meet at the session's row: who comes second finds it written, and
 * writes nothing. Where it is another image than that of the attempt before, the decision that made the session ends
 * with it.
 *
 * Locks: sessions in id order, then decisions.
 */
const RECORD_SQL = `
WITH told AS (
  SELECT DISTINCT ON (s.id) s.id, t.digest
  FROM json_to_recordset($1::json) AS t("kernelId" uuid, "assignment" int, "digest" text)
  JOIN kernels k ON k.id = t."kernelId" AND k.assignment = t."assignment" AND k.agent_id = $2
    AND k.status IN ('PREPARING', 'PULLING', 'PREPARED', 'CREATING')
  JOIN agents a ON a.id = k.agent_id AND a.instance_id = $3
  JOIN sessions s ON s.id = k.session_id AND s.image_digest IS NULL
  WHERE coalesce(s.required_image_digest, t.digest) = t.digest
  ORDER BY s.id, k.role, k.index
), locked AS (
  SELECT s.id FROM sessions s JOIN told USING (id) ORDER BY s.id FOR NO KEY UPDATE OF s
), recorded AS (
  UPDATE sessions s SET image_digest = told.digest
  FROM locked JOIN told USING (id)
  WHERE s.id = locked.id AND s.image_digest IS NULL AND s.status IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING')
  RETURNING s.id, s.parent_session_id, s.attempt, s.image_digest
)
UPDATE retry_decisions d
SET explanation = d.explanation || '; attempt ' || r.attempt || ' runs another image: ' || r.image_digest || ' in place of ' || p.image_digest
FROM recorded r JOIN sessions p ON p.id = r.parent_session_id
WHERE d.session_id = p.id AND d.child_session_id = r.id AND p.image_digest <> r.image_digest
  AND position(r.image_digest IN d.explanation) = 0`

export async function recordImageDigests(
  db: Queryable,
  { agentId, instanceId }: { agentId: string; instanceId: string },
  told: readonly ToldImage[],
): Promise<void> {
  await db.query(RECORD_SQL, [JSON.stringify(told), agentId, instanceId])
}
