import { z } from 'zod'
import { GROUP_DEPENDENCIES_MAX } from '../../domain/limits.ts'
import { GROUP_CONDITIONS, type GroupCondition } from '../../domain/session/session-group.ts'
import type { Queryable } from '../../store/database.ts'
import { holdGroups, type NewDependency } from '../../store/sql/session/group-dependencies.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { readMembers } from '../../store/sql/session/session-groups.sql.ts'
import { argumentError } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { groupNotFound } from './read-groups.ts'

/** Groups that a group waits for, as a client gives them. */
export const groupDependencies = z
  .array(
    z.strictObject({
      groupId: z.uuid().toLowerCase(),
      condition: z
        .enum(GROUP_CONDITIONS)
        .nullish()
        .transform((given) => given ?? 'ALL_SUCCEEDED'),
    }),
  )
  .max(GROUP_DEPENDENCIES_MAX)
  .refine((all) => new Set(all.map(({ groupId }) => groupId)).size === all.length, 'Each group at most once')

/**
 * Finds the groups that a new group depends on, and keeps them from ending meanwhile.
 *
 * @throws RepriseError GROUP_NOT_FOUND, VALIDATION_FAILED
 */
export async function holdAwaited(
  tx: Queryable,
  { viewer }: ServiceContext,
  wanted: z.output<typeof groupDependencies>,
  projectId: string,
): Promise<NewDependency[]> {
  const held = await holdGroups(
    tx,
    wanted.map(({ groupId }) => groupId),
    viewer.projectId,
  )
  return wanted.map(({ groupId, condition }, at) => {
    const other = held.get(groupId)
    if (other === undefined) throw groupNotFound(groupId)
    if (other.projectId !== projectId)
      throw argumentError(`group.dependsOn.${at}`, 'A group depends on groups of its own project.')
    if (condition === 'SAME_INDEX') return { groupId, condition, met: true }
    const met = other.hasEnded ? condition === 'ENDED' || other.outcome === 'SUCCEEDED' : null
    return { groupId, condition, met }
  })
}

/**
 * Makes each member depend on the member of the same index in the groups for which this is the condition.
 *
 * @throws RepriseError VALIDATION_FAILED
 */
export async function withSameIndex(
  tx: Queryable,
  wanted: readonly { groupId: string; condition: GroupCondition }[],
  members: readonly NewSession[],
): Promise<readonly NewSession[]> {
  let joined = members
  for (const { groupId, condition } of wanted) {
    if (condition !== 'SAME_INDEX') continue
    const others = await readMembers(
      tx,
      groupId,
      joined.map(({ groupIndex }) => groupIndex!),
    )
    const missing = joined.find(({ groupIndex }) => !others.has(groupIndex!))
    if (missing !== undefined)
      throw argumentError('group.dependsOn', `Group ${groupId} has no member with the index ${missing.groupIndex}.`)
    joined = joined.map((session) => {
      const chainId = others.get(session.groupIndex!)!
      return { ...session, dependsOnChains: [...new Set([...session.dependsOnChains, chainId])] }
    })
  }
  return joined
}
