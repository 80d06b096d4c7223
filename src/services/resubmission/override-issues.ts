import { validate } from 'uuid'
import type { ValidationIssue } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { readGroupTypes } from '../../store/sql/session/creation-scope.sql.ts'
import { readAgentGroups } from '../../store/sql/agent/read-agents.sql.ts'
import { mayBeName } from '../input/text-input.ts'

/** Problems with overrides that only the database can reveal, even if they have other faults. */
export async function overrideIssues(db: Queryable, overrides: object): Promise<ValidationIssue[]> {
  const { resourceGroup, allowAgents, avoidAgents, excludeAgents } = overrides as Record<string, unknown>
  const group = typeof resourceGroup === 'string' && mayBeName(resourceGroup) ? resourceGroup : null
  const lists = {
    allowAgents: idsOf(allowAgents),
    avoidAgents: idsOf(avoidAgents),
    excludeAgents: idsOf(excludeAgents),
  }
  const [groups, agents] = await Promise.all([
    readGroupTypes(db, group === null ? [] : [group]),
    readAgentGroups(
      db,
      Object.values(lists).flatMap((list) => list.map(({ id }) => id)),
    ),
  ])
  const issues: ValidationIssue[] = []
  if (group !== null && !groups.get(group)?.includes('BATCH')) {
    const message = groups.has(group) ? `resource group ${group} takes no batch sessions` : `no resource group ${group}`
    issues.push({ path: 'overrides.resourceGroup', message })
  }
  for (const [name, list] of Object.entries(lists)) {
    for (const { id, index } of list) {
      const where = agents.get(id)
      const path = `overrides.${name}.${index}`
      if (where === undefined) issues.push({ path, message: `no agent ${id}` })
      else if (name === 'allowAgents' && group !== null && where !== group) {
        issues.push({ path, message: `agent ${id} is in the resource group ${where}, not in ${group}` })
      }
    }
  }
  return issues
}

function idsOf(list: unknown): { id: string; index: number }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((id: unknown, index) =>
    typeof id === 'string' && validate(id) ? [{ id: id.toLowerCase(), index }] : [],
  )
}
