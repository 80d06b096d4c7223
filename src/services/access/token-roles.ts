import { readValidRoles } from '../../store/sql/access/tokens.sql.ts'
import type { Role, ServiceContext } from '../service-context.ts'

/** The roles in which these tokens act at present; those that are not valid are missing. The caller may see them. */
export function readTokenRoles(
  { db }: Pick<ServiceContext, 'db'>,
  tokenIds: readonly string[],
): Promise<Map<string, Role>> {
  return readValidRoles(db, tokenIds)
}
