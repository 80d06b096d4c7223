import { deriveResubmission } from '../../domain/resubmission/derive-resubmission.ts'
import { applyOverrides, type ResubmissionOverrides } from '../../domain/resubmission/overrides.ts'
import type { TargetRefusal } from '../../domain/resubmission/refuse.ts'
import type { FailureCause } from '../../domain/session/causes.ts'
import type { Queryable } from '../../store/database.ts'
import { useCodeOfProjects } from '../../store/sql/code/code-archives.sql.ts'
import { readAgentGroups } from '../../store/sql/agent/read-agents.sql.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import type { LockedTarget } from '../../store/sql/session/lock-targets.sql.ts'
import { childSession } from '../session/child-session.ts'

/** The existing objects that overrides name. */
export interface OverrideScope {
  groups: ReadonlySet<string>
  /** Resource group by agent. */
  agents: ReadonlyMap<string, string>
  /** Projects that have the code. */
  codeProjects: ReadonlySet<string>
}

export async function readOverrideScope(
  db: Queryable,
  { resourceGroup, allowAgents = [], codeSha256 }: ResubmissionOverrides,
): Promise<OverrideScope> {
  const groups = resourceGroup === undefined ? [] : [...(await readGroupScopes(db, [resourceGroup]))]
  return {
    groups: new Set(groups.flatMap(([name, { allowed }]) => (allowed.includes('BATCH') ? [name] : []))),
    agents: allowAgents.length === 0 ? new Map() : await readAgentGroups(db, allowAgents),
    codeProjects: codeSha256 === undefined ? new Set() : await useCodeOfProjects(db, codeSha256),
  }
}

/** The child of a session that is resubmitted, or the reason why these overrides do not allow one. */
export function resubmittedChild(
  target: LockedTarget,
  cause: FailureCause | null,
  overrides: ResubmissionOverrides,
  scope: OverrideScope,
): NewSession | TargetRefusal {
  const spec = applyOverrides(target, overrides)
  if (typeof spec === 'string') return { code: 'VALIDATION_FAILED', message: `session ${target.id}: ${spec}` }
  const { resourceGroup } = spec
  if (overrides.resourceGroup !== undefined && !scope.groups.has(resourceGroup)) {
    return { code: 'RESOURCE_GROUP_NOT_FOUND', message: `no resource group ${resourceGroup}` }
  }
  const { allowAgents = [], codeSha256 } = overrides
  if (codeSha256 !== undefined && !scope.codeProjects.has(target.projectId)) {
    const message = `the project of session ${target.id} has no uploaded code ${codeSha256}`
    return { code: 'CODE_NOT_FOUND', message }
  }
  if (allowAgents.length > 0 && !allowAgents.some((id) => scope.agents.get(id) === resourceGroup)) {
    const message = `session ${target.id} is in the resource group ${resourceGroup}, and none of allowAgents is`
    return { code: 'VALIDATION_FAILED', message }
  }
  try {
    const own = deriveResubmission({ ...target, chainCreationId: target.rootCreationId }, cause)
    return childSession({ ...target, rootCreationId: target.rootCreationId! }, { ...spec, ...own })
  } catch (error) {
    return { code: 'CHAIN_UNREADABLE', message: `session ${target.id}: ${(error as Error).message}` }
  }
}
