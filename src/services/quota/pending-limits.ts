import { pendingPlaces, type Owner, type PendingPlaces } from '../../domain/quota/pending-places.ts'
import type { Queryable } from '../../store/database.ts'
import { lockQuotas } from '../../store/sql/quota/lock-quotas.sql.ts'
import { countPending, quotaKey } from '../../store/sql/quota/quota-usage.sql.ts'

/**
 * What these owners' limits on pending sessions leave. The quotas are locked for the transaction, so that
 * nobody else takes the same places; without quotas, nothing is counted.
 */
export async function lockPendingPlaces(tx: Queryable, owners: readonly Owner[]): Promise<PendingPlaces> {
  const projectIds = [...new Set(owners.map(({ projectId }) => projectId))]
  const userIds = [...new Set(owners.flatMap(({ userId }) => userId ?? []))]
  const quotas = await lockQuotas(tx, { projectIds, userIds }, 'PENDING')
  const counts = await countPending(tx, quotas)
  return pendingPlaces(
    quotas.map((quota) => ({ ...quota, maxPending: quota.maxPending!, pending: counts.get(quotaKey(quota))! })),
  )
}
