import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import type { RetryScope } from '../../domain/retry/policy/resolve-policy.ts'
import {
  CLUSTER_ID,
  findScopeId,
  listRetryDefaults,
  type NamedScope,
  readNamedDefaults as readNamed,
  replaceRetryDefaults,
  type StoredDefaults,
} from '../../store/sql/retry/retry-defaults.sql.ts'
import { actorOf, assertMayAdminister } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { mayBeName } from '../input/input-fields.ts'
import { SCOPES_LISTED_MAX } from '../../domain/limits.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { issuesUnder, refuseInput } from '../input/parse-input.ts'

/** A scope of settings for many sessions; `name` is that of a domain or project. */
export interface RetryScopeInput {
  scope: RetryScope
  name?: string | null
}

interface ResolvedScope {
  scope: RetryScope
  /** Null for the cluster. */
  name: string | null
  /** The nil UUID for the cluster. */
  id: string
  /** The project for the audit log. */
  projectId: string | null
}

export function scopeIssues({ scope, name }: RetryScopeInput): ValidationIssue[] {
  if (scope === 'CLUSTER') {
    return name == null ? [] : [{ path: 'name', message: 'Only for a domain or a project: there is only one cluster' }]
  }
  return name ? [] : [{ path: 'name', message: `The name of the ${scope.toLowerCase()} is required` }]
}

/**
 * Finds a scope, for administrators; those of one project may change only their project.
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

/**
 * Reads all defaults that apply to the viewer, widest scope first. Stored policies that are no longer valid are
 * ignored.
 */
export async function readRetryDefaults({ db, viewer }: ServiceContext): Promise<RetryDefaults[]> {
  return (await listRetryDefaults(db, viewer.projectId, SCOPES_LISTED_MAX)).map(shownDefaults)
}

export type { NamedScope }

/** Whether a scope can have this name: only the cluster has none. */
export function mayBeScope({ scope, name }: NamedScope): boolean {
  return (scope === 'CLUSTER') === (name === null) && mayBeName(name ?? '')
}

/** Reads the defaults of these scopes that the viewer sees, also of those that have none. */
export async function readNamedDefaults(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  scopes: readonly NamedScope[],
): Promise<RetryDefaults[]> {
  return (await readNamed(db, viewer.projectId, scopes.filter(mayBeScope))).map(shownDefaults)
}

function shownDefaults({ scope, name, policy }: StoredDefaults): RetryDefaults {
  const parsed = policy === null ? { policy: null } : parseRetryPolicy(policy)
  return { scope, name, policy: 'policy' in parsed ? parsed.policy : null }
}

export interface SetRetryDefaultsInput extends RetryScopeInput {
  /** Replaces the present defaults; null clears them. */
  policy?: object | null
}

/** Policy defaults of a scope; null if there are none. */
export interface RetryDefaults {
  scope: RetryScope
  /** Null for the cluster. */
  name: string | null
  policy: Partial<RetryPolicy> | null
}

/**
 * Sets defaults for sessions created from now on, used if neither the sessions nor narrower scopes set a value.
 * Existing sessions keep their policy.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DOMAIN_NOT_FOUND, PROJECT_NOT_FOUND
 */
export async function setRetryDefaults(context: ServiceContext, input: SetRetryDefaultsInput): Promise<RetryDefaults> {
  assertMayAdminister(context.viewer, input.scope)
  const policy = parse(input)
  const { scope, name, id, projectId } = await resolveScope(context, input)
  await context.db.transaction(async (tx) => {
    const before = await replaceRetryDefaults(tx, scope, id, policy)
    const details = { scope, name, before, after: policy }
    await recordAudit(tx, { actor: actorOf(context.viewer), action: 'retry.set_defaults', projectId, details })
  })
  return { scope, name, policy }
}

function parse(input: SetRetryDefaultsInput): Partial<RetryPolicy> | null {
  const parsed = input.policy == null ? { policy: null } : parseRetryPolicy(input.policy)
  const policyIssues = 'policy' in parsed ? [] : parsed.issues
  const issues = [...scopeIssues(input), ...issuesUnder('policy', policyIssues)]
  if (issues.length === 0 && 'policy' in parsed) return parsed.policy
  return refuseInput(issues)
}
