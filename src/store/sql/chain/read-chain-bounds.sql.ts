import type { Retention } from '../../../domain/retention.ts'
import type { Queryable } from '../../database.ts'

/**
 * For each project, the time before which finished chains are too old or too many; never after the oldest kept event,
 * so that the session of every event can be read. This walks through all chains that are kept by count, so it runs once
 * a tick.
 */
const SQL = `
SELECT p.id AS "projectId", least(bound.at, (SELECT occurred_at FROM session_events ORDER BY xid, id LIMIT 1)) AS before
FROM projects p CROSS JOIN LATERAL (SELECT greatest(
  reprise_now() - make_interval(secs => $1::float8),
  (SELECT newest_activity_at FROM chains WHERE project_id = p.id AND ended_at IS NOT NULL
    ORDER BY newest_activity_at DESC OFFSET $2::int8 LIMIT CASE WHEN $2::int8 IS NULL THEN 0 ELSE 1 END) + interval '1 millisecond'
) AS at) AS bound
WHERE bound.at IS NOT NULL`

export interface ChainBound {
  projectId: string
  before: Date
}

export async function readChainBounds(db: Queryable, { ageSeconds, count }: Retention): Promise<ChainBound[]> {
  return (await db.query<ChainBound>(SQL, [ageSeconds, count])).rows
}
