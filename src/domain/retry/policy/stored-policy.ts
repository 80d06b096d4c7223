import { parseRetryPolicy } from './parse-policy.ts'
import { SHIPPED_POLICY, type RetryPolicy } from './policy.ts'
import { POLICY_SOURCES, resolvePolicy, type PolicySource, type ResolvedPolicy } from './resolve-policy.ts'

/**
 * The policy stored with a session, or a description of why it cannot be followed. A missing field, introduced after
 * the session was created, gets its shipped default.
 */
export function readStoredPolicy(stored: unknown): RetryPolicy | string {
  const parsed = parseRetryPolicy(stored)
  if ('policy' in parsed) return { ...SHIPPED_POLICY, ...parsed.policy }
  const faults = parsed.issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`))
  return `the stored retry policy is not valid (${faults.join('; ')})`
}

/**
 * The stored policy for display. A field that is missing or no longer valid shows its shipped default with that source,
 * so the session can be displayed all the same.
 */
export function showStoredPolicy(stored: unknown, storedSources: unknown): ResolvedPolicy {
  const whole = parseRetryPolicy(stored)
  const policy = 'policy' in whole ? whole.policy : readableFields(stored)
  const shown = resolvePolicy([{ source: 'SESSION', policy }])
  for (const field of Object.keys(policy) as (keyof RetryPolicy)[]) {
    shown.sources[field] = sourceOf(storedSources, field)
  }
  return shown
}

function readableFields(stored: unknown): Partial<RetryPolicy> {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return {}
  const written: [string, unknown][] = Object.entries(stored)
  const fields = written.map(([field, value]) => parseRetryPolicy({ [field]: value }))
  return Object.assign({}, ...fields.map((parsed) => ('policy' in parsed ? parsed.policy : {}))) as Partial<RetryPolicy>
}

function sourceOf(storedSources: unknown, field: string): PolicySource {
  const source = (storedSources as Record<string, unknown> | null)?.[field]
  return POLICY_SOURCES.find((known) => known === source) ?? 'SHIPPED'
}
