import { z } from 'zod'
import type { ValidationIssue } from '../../errors.ts'
import { retryPolicy, type RetryPolicy, SHIPPED_POLICY } from './policy.ts'
import {
  POLICY_SOURCES,
  type PolicySource,
  PRESETS,
  type ResolvedPolicy,
  resolvePolicy,
  RETRY_POLICY_PRESETS,
} from './resolve-policy.ts'
import { parseDecimal } from '../../amounts.ts'
import type { ChildChanges } from '../child.ts'

type ParsedPolicy = { policy: Partial<RetryPolicy> } | { issues: ValidationIssue[] }

/**
 * Parses a policy from a client or a default: every field is optional, unknown fields are refused, all errors are
 * reported at once. Null means "not given", except for nullable fields of the policy (NULL_IS_A_VALUE). A `preset`
 * supplies the fields that are not given; the resulting policy no longer names it.
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
/** The depth of nesting: policy, rules, rule, scaleResources, growth, its fields. */
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

/**
 * Reads the policy stored with a session, or describes why it cannot be followed. A missing field, introduced after the
 * session was created, gets its shipped default.
 */
export function readStoredPolicy(stored: unknown): RetryPolicy | string {
  const parsed = parseRetryPolicy(stored)
  if ('policy' in parsed) return { ...SHIPPED_POLICY, ...parsed.policy }
  const faults = parsed.issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`))
  return `the stored retry policy is not valid (${faults.join('; ')})`
}

/**
 * Reads the stored policy for display. A field that is missing or no longer valid is shown as its shipped default with
 * that source, so that the session can always be displayed.
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

/**
 * The changes of the child that are stored in a decision's details; the cause and the count have columns of the
 * decision.
 */
export type StoredChildChanges = Pick<ChildChanges, 'growth' | 'avoid' | 'exclude'>

const amount = z.string().refine((text) => parseDecimal(text) !== undefined, 'Not an exact amount')

const storedChildChanges = z.object({
  growth: z
    .object({
      resourceSlots: z.record(z.string(), amount),
      batchTimeout: z.number().positive().nullable(),
      gpuNeed: z
        .object({ model: z.string().nullable(), memoryBytes: z.number().positive().nullable() })
        .nullable()
        .optional(),
    })
    .nullable(),
  avoid: z.object({ agents: z.array(z.guid()), groups: z.array(z.string()) }),
  exclude: z.object({ agents: z.array(z.guid()) }).optional(),
})

/** Reads the child's changes from a decision's details, or describes why they cannot be followed. */
export function readStoredChildChanges(details: unknown): StoredChildChanges | string {
  const parsed = storedChildChanges.safeParse(details)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length ? `${path.join('.')}: ${message}` : message,
  )
  return `the stored retry decision is not valid (${faults.join('; ')})`
}
