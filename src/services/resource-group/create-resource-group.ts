import type { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { addGroup, lockGroupOptions, writeGroupOptions } from '../../store/sql/resource-group/resource-groups.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import { entityName } from '../input/entity-name.ts'
import { parseInput, refuseInput } from '../input/parse-input.ts'
import { changedOptions, groupOptions, optionIssues } from './resource-group-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

const schema = groupOptions.extend({ name: entityName })

export type CreateResourceGroupInput = z.input<typeof schema>

/**
 * Creates a pool of agents, which join it by its name. Missing options have their defaults.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN
 */
export async function createResourceGroup(
  context: ServiceContext,
  input: CreateResourceGroupInput,
): Promise<{ name: string }> {
  const { db, viewer } = context
  assertMayAdminister(viewer, 'CLUSTER')
  const { name, ...options } = parseInput(schema, input)
  await db.transaction(async (tx) => {
    if (!(await addGroup(tx, name))) throw new RepriseError('NAME_TAKEN', `there is a resource group ${name} already`)
    const after = changedOptions((await lockGroupOptions(tx, name))!, options)
    const issues = optionIssues(after, options)
    if (issues.length > 0) refuseInput(issues)
    await writeGroupOptions(tx, name, after)
    const details = { name, options: after }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'resource_group.create', projectId: null, details })
  })
  return { name }
}
