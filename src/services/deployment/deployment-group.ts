import { RepriseError } from '../../domain/errors.ts'
import { missingVolumes, offersAll } from '../../domain/scheduling/volume-need.ts'
import { refuseType } from '../../domain/session/group-types.ts'
import type { Queryable } from '../../store/database.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { readGroupVolumes } from '../../store/sql/agent/read-volumes.sql.ts'
import type { DeploymentSpec } from '../../store/sql/deployment/deployment-spec.sql.ts'
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

/**
 * Its agents, alive or not, must have what it mounts for its project: sessions wait for an agent that comes, but a
 * deployment is to serve now. What is there for other projects is not told from what is not there.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function assertHasVolumes(
  db: Queryable,
  projectId: string,
  { resourceGroup, mounts }: Pick<DeploymentSpec, 'resourceGroup' | 'mounts'>,
): Promise<void> {
  if (mounts.length === 0) return
  const { project, agents } = await readGroupVolumes(db, projectId, resourceGroup)
  const need = { project, mounts }
  if (agents.some(({ volumes }) => offersAll(volumes, need))) return
  const message = missingVolumes(agents, need, `no agent of resource group ${resourceGroup}`)
  refuseInput([{ path: 'mounts', message }])
}
