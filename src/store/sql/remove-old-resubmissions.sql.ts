import type { Database } from '../database.ts'

/** Over before $1, with no child left: those went with their chains. */
const CHILDLESS = `r.finished_at < $1 AND NOT EXISTS (
    SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id AND i.child_session_id IS NOT NULL)`

/**
 * What was refused, or never had its turn, of resubmissions without a child: no longer than the session that it names.
 * Indexes: resubmissions_finished_at, the primary keys.
 */
const ITEMS_SQL = `
WITH old AS MATERIALIZED (
  SELECT i.resubmission_id, i.position FROM resubmissions r JOIN resubmission_items i ON i.resubmission_id = r.id
  WHERE ${CHILDLESS} AND (i.code = 'SESSION_NOT_FOUND' OR NOT EXISTS (SELECT FROM sessions s WHERE s.id = i.session_id))
  LIMIT $2
)
DELETE FROM resubmission_items i USING old WHERE i.resubmission_id = old.resubmission_id AND i.position = old.position`

const EMPTY_SQL = `
DELETE FROM resubmissions WHERE id IN (
  SELECT r.id FROM resubmissions r WHERE r.finished_at < $1
    AND NOT EXISTS (SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id)
  ORDER BY r.finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

/** Items, and resubmissions that have none left; no more than `limit` of each. Answers with how many items went. */
export async function removeOldResubmissions(db: Database, before: Date, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const items = (await tx.query(ITEMS_SQL, [before, limit])).rowCount ?? 0
    await tx.query(EMPTY_SQL, [before, limit])
    return items
  })
}
