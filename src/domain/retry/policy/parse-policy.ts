import { z } from 'zod'
import type { ValidationIssue } from '../../errors.ts'
import {
  BATCH_TIMEOUT_SECONDS_MAX,
  REASON_LENGTH_MAX,
  RETRIES_MAX,
  RULE_EXIT_CODES_MAX,
  RULES_MAX,
  SLOT_FRACTION_DIGITS_MAX,
  SLOT_NAME_LENGTH_MAX,
  SLOTS_MAX,
  UNCOUNTED_RETRIES_MAX,
} from '../../limits.ts'
import { parseAmount } from '../../amounts.ts'
import { isStorableText, STORABLE_TEXT } from '../../storable-text.ts'
import { ELIGIBLE_CAUSES, FAILURE_CAUSES, type EligibleCause, type FailureCause } from '../../session/causes.ts'
import { EXIT_CODES_WANTED, parseExitCodes, type ExitCodes } from './exit-codes.ts'
import { AVOIDANCES, BACKOFFS, EXCLUSIONS, JITTERS, RULE_ACTIONS, type RetryPolicy } from './policy.ts'
import { PRESETS, RETRY_POLICY_PRESETS } from './presets.ts'

export type ParsedPolicy = { policy: Partial<RetryPolicy> } | { issues: ValidationIssue[] }

/**
 * Parses a policy as a client or a default gives it: every field optional, unknown fields refused, all errors reported
 * at once. Null means "not given", except for `maxRetryDelay` and `maxElapsed`, where it is a value. A `preset`
 * supplies the fields that are not given; the resulting policy no longer names it.
 */
export function parseRetryPolicy(input: unknown): ParsedPolicy {
  const parsed = retryPolicySchema.safeParse(withoutNulls(input, 0))
  if (parsed.success) {
    const { preset, ...policy } = parsed.data
    return { policy: preset === undefined ? policy : { ...PRESETS[preset], ...policy } }
  }
  return { issues: parsed.error.issues.flatMap(asIssues) }
}

const exitCode = z.unknown().transform((written, context): ExitCodes => {
  const codes = parseExitCodes(written)
  if (codes !== undefined) return codes
  context.addIssue({ code: 'custom', message: `Must be ${EXIT_CODES_WANTED}` })
  return z.NEVER
})
const exitCodes = z.array(exitCode).max(RULE_EXIT_CODES_MAX)

const ruleMatch = z.strictObject({
  causes: z
    .array(z.enum(FAILURE_CAUSES as readonly [FailureCause, ...FailureCause[]]))
    .transform(unique)
    .optional(),
  exitCodes: exitCodes.optional(),
  exitCodesNotIn: exitCodes.optional(),
  reason: z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).optional(),
})

const slotGrowth = z
  .strictObject({
    slot: z.string().min(1).max(SLOT_NAME_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT),
    factor: z.number().positive(),
    max: z.union([z.string(), z.number()]).optional(),
  })
  .transform((growth, context) => {
    if (growth.max === undefined) return { slot: growth.slot, factor: growth.factor }
    const max = parseAmount(growth.slot, growth.max)
    // Amounts finer than scheduling counts in would end up in a child's slots.
    if (max === undefined || (max.split('.')[1] ?? '').length > SLOT_FRACTION_DIGITS_MAX) {
      const message = `Not an amount: a plain, non-negative decimal of at most ${SLOT_FRACTION_DIGITS_MAX} fraction digits`
      context.addIssue({ code: 'custom', path: ['max'], message })
      return z.NEVER
    }
    return { slot: growth.slot, factor: growth.factor, max }
  })

const timeoutGrowth = z.strictObject({
  factor: z.number().positive(),
  max: z.number().positive().max(BATCH_TIMEOUT_SECONDS_MAX).optional(),
})

const ONLY_FOR_RETRIES = ['delay', 'scaleResources', 'scaleTimeout', 'avoid', 'exclude'] as const

const ruleFields = z.strictObject({
  match: ruleMatch,
  action: z.enum(RULE_ACTIONS),
  delay: z.number().nonnegative().optional(),
  scaleResources: z.array(slotGrowth).max(SLOTS_MAX).optional(),
  scaleTimeout: timeoutGrowth.optional(),
  avoid: z.enum(AVOIDANCES).optional(),
  exclude: z.enum(EXCLUSIONS).optional(),
})

/** Also runs if a field is invalid, so that all errors are reported at once; values may then have any type. */
const when = ({ value }: z.core.ParsePayload): boolean => typeof value === 'object' && value !== null

const rule = ONLY_FOR_RETRIES.reduce(
  (schema, key) =>
    schema.refine((value) => value.action !== 'FAIL' || value[key] === undefined, {
      path: [key],
      message: 'Only for a rule that retries',
      when,
    }),
  ruleFields.refine((value) => slotsAreUnique(value.scaleResources), {
    path: ['scaleResources'],
    message: 'Each slot at most once',
    when,
  }),
)

const retryPolicySchema = z.strictObject({
  preset: z.enum(RETRY_POLICY_PRESETS).optional(),
  maxRetries: z.int().min(0).max(RETRIES_MAX).optional(),
  retryDelay: z.number().positive().optional(),
  backoff: z.enum(BACKOFFS).optional(),
  backoffMultiplier: z.number().positive().optional(),
  maxRetryDelay: z.number().positive().nullable().optional(),
  jitter: z.enum(JITTERS).optional(),
  jitterRatio: z.number().min(0).max(1).optional(),
  eligibleCauses: z
    .array(z.enum(ELIGIBLE_CAUSES))
    .transform((causes): EligibleCause[] => ELIGIBLE_CAUSES.filter((cause) => causes.includes(cause)))
    .optional(),
  emitRetryEvents: z.boolean().optional(),
  maxElapsed: z.number().positive().nullable().optional(),
  countPreStartFailures: z.boolean().optional(),
  maxUncountedRetries: z.int().min(0).max(UNCOUNTED_RETRIES_MAX).optional(),
  trustVerdicts: z.boolean().optional(),
  rules: z.array(rule).max(RULES_MAX).optional(),
})

const NULL_IS_A_VALUE: ReadonlySet<string> = new Set(['maxRetryDelay', 'maxElapsed'])
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

function slotsAreUnique(growths: unknown): boolean {
  if (!Array.isArray(growths)) return true
  const slots = growths.map((growth: unknown) => (growth as { slot?: unknown } | null)?.slot)
  const named = slots.filter((slot) => slot !== undefined)
  return new Set(named).size === named.length
}

function unique<T>(values: T[]): T[] {
  return [...new Set(values)]
}

function asIssues(issue: z.core.$ZodIssue): ValidationIssue[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }]
  return issue.keys.map((key) => ({ path: [...issue.path, key].join('.'), message: 'Unknown field' }))
}
