import { pendingPlaces, type Owner, type PendingPlaces } from '../../domain/quota/pending-places.ts'
import type { Queryable } from '../../store/database.ts'
import { lockQuotas, readLimits, type LockedQuota, type Owners } from '../../store/sql/quota/lock-quotas.sql.ts'
import { countPending, quotaKey } from '../../store/sql/quota/quota-usage.sql.ts'

/**
 * What these owners' limits on pending sessions leave. The quotas are locked for the transaction, so that
 * nobody else takes the same places; without quotas, nothing is counted.
 */
export async function lockPendingPlaces(tx: Queryable, owners: readonly Owner[]): Promise<PendingPlaces> {
  return placesLeftBy(tx, await lockQuotas(tx, scopesOf(owners), 'PENDING'))
}

/** For information only: locks nothing. */
export async function readPendingPlaces(db: Queryable, owners: readonly Owner[]): Promise<PendingPlaces> {
  return placesLeftBy(db, await readLimits(db, scopesOf(owners), 'PENDING'))
}

function scopesOf(owners: readonly Owner[]): Owners {
  return {
    projectIds: [...new Set(owners.map(({ projectId }) => projectId))],
    userIds: [...new Set(owners.flatMap(({ userId }) => userId ?? []))],
  }
}

async function placesLeftBy(db: Queryable, quotas: readonly LockedQuota[]): Promise<PendingPlaces> {
  const counts = await countPending(db, quotas)
  return pendingPlaces(
    quotas.map((quota) => ({ ...quota, maxPending: quota.maxPending!, pending: counts.get(quotaKey(quota))! })),
  )
}
