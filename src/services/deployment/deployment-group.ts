import { RepriseError } from '../../domain/errors.ts'
import { refuseType } from '../../domain/session/group-types.ts'
import type { Queryable } from '../../store/database.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { refuseInput } from '../input/parse-input.ts'

/**
 * Routes are INFERENCE sessions: their resource group must take them.
 * @throws RepriseError RESOURCE_GROUP_NOT_FOUND, VALIDATION_FAILED
 */
export async function assertServes(db: Queryable, resourceGroup: string): Promise<void> {
  const types = (await readGroupScopes(db, [resourceGroup])).get(resourceGroup)
  if (!types) throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${resourceGroup}`)
  const message = refuseType(resourceGroup, types, 'INFERENCE')
  if (message !== undefined) refuseInput([{ path: 'resourceGroup', message }])
}
