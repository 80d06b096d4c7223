import { RepriseError } from '../../domain/errors.ts'
import type { QuotaScope } from '../../domain/quota/quota.ts'
import { findQuotaScope } from '../../store/sql/quota/quotas.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { mayBeName } from '../input/text-input.ts'

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
  const id = mayBeName(name) ? await findQuotaScope(db, scope, name, viewer) : undefined
  if (id === undefined) throw new RepriseError(NOT_FOUND[scope], `no ${scope.toLowerCase()} ${name}`)
  return id
}
