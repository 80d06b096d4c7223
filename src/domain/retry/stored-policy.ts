import { parseRetryPolicy } from './parse-policy.ts'
import { SHIPPED_POLICY, type RetryPolicy } from './policy.ts'

/**
 * The policy stored with a session, or in words why it cannot be followed. A field that is missing because
 * it came into being after the session has its shipped default.
 */
export function readStoredPolicy(stored: unknown): RetryPolicy | string {
  const parsed = parseRetryPolicy(stored)
  if ('policy' in parsed) return { ...SHIPPED_POLICY, ...parsed.policy }
  const faults = parsed.issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`))
  return `the stored retry policy is not valid (${faults.join('; ')})`
}
