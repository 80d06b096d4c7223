import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { lockGroupOptions, writeGroupOptions } from '../../store/sql/resource-group/resource-groups.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import { parseInput, refuseInput } from '../input/parse-input.ts'
import { changedOptions, groupOptions, optionIssues } from './resource-group-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

const schema = groupOptions.extend({ name: z.string() })

export type UpdateResourceGroupInput = z.input<typeof schema>

/**
 * Changes options of a group. They take effect with the next pass of each handler. Existing sessions keep their type,
 * and an agent keeps its fence until it registers again.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, RESOURCE_GROUP_NOT_FOUND
 */
export async function updateResourceGroup(
  context: ServiceContext,
  input: UpdateResourceGroupInput,
): Promise<{ name: string }> {
  const { db, viewer, wake } = context
  assertMayAdminister(viewer, 'CLUSTER')
  const { name, ...options } = parseInput(schema, input)
  await db.transaction(async (tx) => {
    const before = name.includes('\0') ? undefined : await lockGroupOptions(tx, name)
    if (!before) throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${name}`)
    const after = changedOptions(before, options)
    const issues = optionIssues(after, options)
    if (issues.length > 0) refuseInput(issues)
    await writeGroupOptions(tx, name, after)
    const details = { name, before, after }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'resource_group.update', projectId: null, details })
  })
  wake.wake('schedule-sessions')
  return { name }
}
