import { RepriseError } from '../../domain/errors.ts'
import { SCOPES_LISTED_MAX } from '../../domain/limits.ts'
import type { Quota, QuotaScope } from '../../domain/quota/quota.ts'
import { listQuotas, readQuotas as read, type UsedQuota } from '../../store/sql/quota/quotas.sql.ts'
import { resolveQuotaScope } from './quota-scope.ts'
import type { ServiceContext } from '../service-context.ts'

export type { UsedQuota }

/** All quotas that apply to what the viewer sees. */
export function readQuotas({ db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>): Promise<UsedQuota[]> {
  return listQuotas(db, viewer, SCOPES_LISTED_MAX)
}

/** Usage is returned even if nothing is limited. Null if the viewer sees no such user, project or domain. */
export async function readQuota(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  scope: QuotaScope,
  name: string,
): Promise<UsedQuota | null> {
  try {
    const scopeId = await resolveQuotaScope(context, scope, name)
    return (await read(context.db, [{ scope, scopeId }]))[0] ?? null
  } catch (error) {
    if (error instanceof RepriseError) return null
    throw error
  }
}

/** Quotas of several scopes, in their order. The caller has checked that the viewer may see them. */
export async function readQuotasOf(
  { db }: Pick<ServiceContext, 'db'>,
  keys: readonly Pick<Quota, 'scope' | 'scopeId'>[],
): Promise<UsedQuota[]> {
  const quotas = await read(db, keys)
  return keys.map(({ scope, scopeId }) => quotas.find((quota) => quota.scope === scope && quota.scopeId === scopeId)!)
}
