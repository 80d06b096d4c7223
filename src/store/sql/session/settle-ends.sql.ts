import type { Queryable } from '../../database.ts'
import { ENDED, ENDED_ANEW_SETS, FAILED_BY_KERNEL } from './promotion/promotion-parts.sql.ts'

/**
 * How sessions have ended that one of their kernels has ended, as far as is known of the others by now: for those that
 * run out of time before all have ended. The caller holds the sessions.
 */
const SQL = `
WITH claimed AS (SELECT s.id FROM sessions s WHERE s.id = ANY($1::uuid[]) AND ${FAILED_BY_KERNEL})
UPDATE sessions s SET ${ENDED_ANEW_SETS}
FROM claimed c LEFT JOIN LATERAL ${ENDED} ON true
WHERE s.id = c.id AND s.status_data ->> 'kernel' IS DISTINCT FROM ended.kernel`

export async function settleEnds(tx: Queryable, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length > 0) await tx.query(SQL, [sessionIds])
}
