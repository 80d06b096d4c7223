import { RepriseError } from '../../domain/errors.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import type { QuotaScope } from '../../domain/quota/quota.ts'
import { isStorableText } from '../../domain/storable-text.ts'
import { findQuotaScope } from '../../store/sql/quota/quotas.sql.ts'
import type { ServiceContext } from '../service-context.ts'

const NOT_FOUND = { USER: 'USER_NOT_FOUND', PROJECT: 'PROJECT_NOT_FOUND', DOMAIN: 'DOMAIN_NOT_FOUND' } as const

/**
 * Id of a user, project or domain whose quota applies to the viewer.
 * @throws RepriseError USER_NOT_FOUND, PROJECT_NOT_FOUND, DOMAIN_NOT_FOUND
 */
export async function resolveQuotaScope(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  scope: QuotaScope,
  name: string,
): Promise<string> {
  const known = name.length <= NAME_LENGTH_MAX && isStorableText(name)
  const id = known ? await findQuotaScope(db, scope, name, viewer) : undefined
  if (id === undefined) throw new RepriseError(NOT_FOUND[scope], `no ${scope.toLowerCase()} ${name}`)
  return id
}
