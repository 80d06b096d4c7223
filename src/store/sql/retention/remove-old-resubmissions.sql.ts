import type { Database } from '../../database.ts'

/** Finished before $1, with no child left: children go with their chains. */
const CHILDLESS = `r.finished_at < $1 AND NOT EXISTS (
    SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id AND i.child_session_id IS NOT NULL)`

/**
 * Items that were refused or never processed, of resubmissions without a child: they are kept no longer than the
 * session that they name.
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

/**
 * Deletes items, and resubmissions that have none left; at most `limit` of each. Returns how many items were deleted.
 */
export async function removeOldResubmissions(db: Database, before: Date, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const items = (await tx.query(ITEMS_SQL, [before, limit])).rowCount ?? 0
    await tx.query(EMPTY_SQL, [before, limit])
    return items
  })
}
