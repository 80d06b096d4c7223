import { z } from 'zod'
import type { ValidationIssue } from '../../errors.ts'
import { retryPolicy, type RetryPolicy } from './policy.ts'
import { PRESETS, RETRY_POLICY_PRESETS } from './presets.ts'

export type ParsedPolicy = { policy: Partial<RetryPolicy> } | { issues: ValidationIssue[] }

/**
 * Parses a policy as a client or a default gives it: every field optional, unknown fields refused, all errors reported
 * at once. Null means "not given", except for the fields where it is a value. A `preset` supplies the fields that are
 * not given; the resulting policy no longer names it.
 */
export function parseRetryPolicy(input: unknown): ParsedPolicy {
  const parsed = givenPolicy.safeParse(withoutNulls(input, 0))
  if (parsed.success) {
    const { preset, ...policy } = parsed.data
    return { policy: preset === undefined ? policy : { ...PRESETS[preset], ...policy } }
  }
  return { issues: parsed.error.issues.flatMap(asIssues) }
}

const givenPolicy = z.strictObject({
  preset: z.enum(RETRY_POLICY_PRESETS).optional(),
  ...retryPolicy.partial().shape,
})

const NULL_IS_A_VALUE: ReadonlySet<string> = new Set(
  Object.entries(retryPolicy.shape).flatMap(([name, field]) => (field instanceof z.ZodNullable ? [name] : [])),
)
/** The nesting: policy, rules, rule, scaleResources, growth, its fields. */
const POLICY_DEPTH = 6

function withoutNulls(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > POLICY_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, field]) => field !== undefined && (field !== null || (depth === 0 && NULL_IS_A_VALUE.has(key))))
      .map(([key, field]) => [key, withoutNulls(field, depth + 1)]),
  )
}

function asIssues(issue: z.core.$ZodIssue): ValidationIssue[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }]
  return issue.keys.map((key) => ({ path: [...issue.path, key].join('.'), message: 'Unknown field' }))
}
