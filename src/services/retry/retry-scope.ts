import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import type { RetryScope } from '../../domain/retry/policy/scope.ts'
import { CLUSTER_ID, findScopeId } from '../../store/sql/retry/retry-scope.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { mayBeName } from '../input/text-input.ts'

/** A scope in which something is set for many sessions; `name` is that of a domain or project. */
export interface RetryScopeInput {
  scope: RetryScope
  name?: string | null
}

export interface ResolvedScope {
  scope: RetryScope
  /** Null for the cluster. */
  name: string | null
  /** The nil UUID for the cluster. */
  id: string
  /** For the audit log. */
  projectId: string | null
}

export function scopeIssues({ scope, name }: RetryScopeInput): ValidationIssue[] {
  if (scope === 'CLUSTER') {
    return name == null ? [] : [{ path: 'name', message: 'Only for a domain or a project: there is only one cluster' }]
  }
  return name ? [] : [{ path: 'name', message: `Which ${scope.toLowerCase()}?` }]
}

/**
 * For administrators; those of one project may change only their project.
 * @throws RepriseError FORBIDDEN, DOMAIN_NOT_FOUND, PROJECT_NOT_FOUND
 */
export async function resolveScope(context: ServiceContext, input: RetryScopeInput): Promise<ResolvedScope> {
  const { db, viewer } = context
  assertMayAdminister(viewer, input.scope)
  if (input.scope === 'CLUSTER') return { scope: 'CLUSTER', name: null, id: CLUSTER_ID, projectId: null }
  const { scope } = input
  const name = input.name!
  const id = mayBeName(name) ? await findScopeId(db, scope, name, viewer.projectId) : undefined
  if (id === undefined) {
    throw new RepriseError(
      scope === 'DOMAIN' ? 'DOMAIN_NOT_FOUND' : 'PROJECT_NOT_FOUND',
      `no ${scope.toLowerCase()} ${name}`,
    )
  }
  return { scope, name, id, projectId: scope === 'PROJECT' ? id : null }
}
