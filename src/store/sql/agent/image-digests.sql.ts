import type { Queryable } from '../../database.ts'

/** An agent's report of the image of a kernel that it prepares. */
export interface ReportedImage {
  kernelId: string
  assignment: number
  /** `sha256:…` */
  digest: string
}

/** The image digests of a kernel's session. */
export interface KernelImage {
  kernelId: string
  /** The digest that the session runs; null if no agent has reported it yet. */
  recorded: string | null
  /** The digest that the session must run; null if any image of that name is accepted. */
  required: string | null
}

const READ_SQL = `
SELECT k.id AS "kernelId", s.image_digest AS recorded, s.required_image_digest AS required
FROM kernels k JOIN sessions s ON s.id = k.session_id
WHERE k.id = ANY($1::uuid[]) AND k.agent_id = $2`

/** Reads the digests for those of these kernels that this agent has. */
export async function readImageDigests(
  db: Queryable,
  agentId: string,
  reported: readonly ReportedImage[],
): Promise<KernelImage[]> {
  const ids = reported.map(({ kernelId }) => kernelId)
  return (await db.query<KernelImage>(READ_SQL, [ids, agentId])).rows
}

/**
 * Records the image of each session, once: the first report wins, if it comes from an agent that has a kernel of the
 * session at present. The other kernels then run the same image. Two reports at the same time meet at the session's
 * row; the second finds it written and writes nothing. If the image differs from that of the previous attempt, this is
 * appended to the decision that created the session.
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
  reported: readonly ReportedImage[],
): Promise<void> {
  await db.query(RECORD_SQL, [JSON.stringify(reported), agentId, instanceId])
}
