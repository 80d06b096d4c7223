import type { Queryable } from '../../database.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'

export type ResubmissionState = 'RUNNING' | 'COMPLETED' | 'ABORTED'

/** Waits for the batch in progress; what that batch did stays. */
const SQL = `
WITH found AS (
  SELECT id, state, project_id FROM resubmissions WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2) FOR UPDATE
), aborted AS (
  UPDATE resubmissions r SET state = 'ABORTED', aborted_by = $3, finished_at = reprise_clock(),
    progressed_at = reprise_clock()
  FROM found f WHERE r.id = f.id AND f.state = 'RUNNING'
  RETURNING r.id, r.project_id, r.done, r.refused, r.total
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$4')}, 'resubmission.abort', project_id,
    jsonb_build_object('resubmissionId', id, 'done', done, 'refused', refused, 'total', total)
  FROM aborted
)
SELECT state FROM found`

/** Returns the state before the call; undefined if this viewer has no such resubmission. */
export async function abortResubmissionRow(
  db: Queryable,
  resubmission: { id: string; visibleProjectId: string | null; actor: Actor },
): Promise<ResubmissionState | undefined> {
  const values = [resubmission.id, resubmission.visibleProjectId, resubmission.actor.name]
  values.push(JSON.stringify(resubmission.actor))
  return (await db.query<{ state: ResubmissionState }>(SQL, values)).rows[0]?.state
}
