import { parseRetryPolicy } from '../../domain/retry/policy/parse-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import type { RetryScope } from '../../domain/retry/policy/scope.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { replaceRetryDefaults } from '../../store/sql/retry/retry-defaults.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import { resolveScope, scopeIssues, type RetryScopeInput } from './retry-scope.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'
import { issuesUnder, refuseInput } from '../input/parse-input.ts'

export interface SetRetryDefaultsInput extends RetryScopeInput {
  /** Replaces what was set there; null clears. */
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
 * Defaults for sessions created from now on, where neither they nor narrower scopes set a value. Existing sessions keep
 * their policy.
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
