import { duration, parseDuration } from '../../durations.ts'
import { z } from 'zod'
import { parseAmount } from '../../amounts.ts'
import {
  BATCH_TIMEOUT_SECONDS_MAX,
  DELAYS_MAX,
  PROGRESS_TIMEOUT_SECONDS_MIN,
  REASON_LENGTH_MAX,
  RETRIES_MAX,
  RETRY_DELAY_CEILING_MS,
  RULE_EXIT_CODES_MAX,
  RULES_MAX,
  SLOT_FRACTION_DIGITS_MAX,
  SLOT_NAME_LENGTH_MAX,
  SLOTS_MAX,
  UNCOUNTED_RETRIES_MAX,
} from '../../limits.ts'
import { DEFAULT_CAUSES, ELIGIBLE_CAUSES, type EligibleCause, FAILURE_CAUSES } from '../../session/failure.ts'
import { isStorableText, STORABLE_TEXT } from '../../storable-text.ts'
import { EXIT_CODES_WANTED, type ExitCodes, parseExitCodes } from './exit-codes.ts'

/**
 * The fields of a retry policy with their bounds. The types below, the parser and the APIs are derived from them. A
 * complete policy has every field; a client or a default gives some of them.
 */

export const BACKOFFS = ['FIXED', 'EXPONENTIAL'] as const
export const JITTERS = ['NONE', 'DETERMINISTIC', 'RANDOM', 'FULL', 'DECORRELATED'] as const
export const RULE_ACTIONS = ['RETRY', 'RETRY_UNCOUNTED', 'FAIL'] as const
export const AVOIDANCES = ['AGENT', 'RESOURCE_GROUP'] as const
export const EXCLUSIONS = ['AGENT'] as const
export const GROWTH_STARTS = ['REQUEST', 'PEAK'] as const
export const CHECKPOINT_WISHES = ['PREFER', 'REQUIRE', 'IGNORE'] as const

/** An exit code, or a range of them. */
export const exitCodes = z.unknown().transform((written, context): ExitCodes => {
  const codes = parseExitCodes(written)
  if (codes !== undefined) return codes
  context.addIssue({ code: 'custom', message: `Must be ${EXIT_CODES_WANTED}` })
  return z.NEVER
})
const exitCodeList = z.array(exitCodes).max(RULE_EXIT_CODES_MAX)

const DELAY_WANTED = `Must be a delay of 0 to ${RETRY_DELAY_CEILING_MS / 1000} s: seconds, or text like 20s, 5m or 1h30m`

/** A delay in seconds, given as a number or as text such as `20s`, `1.5m`, `2h` or `1h30m`. */
export const givenDelay = z.unknown().transform((written, context): number => {
  const seconds = typeof written === 'string' ? parseDuration(written) : written
  if (typeof seconds === 'number' && seconds >= 0 && seconds * 1000 <= RETRY_DELAY_CEILING_MS) return seconds
  context.addIssue({ code: 'custom', message: DELAY_WANTED })
  return z.NEVER
})

/** All given conditions must match; an empty match matches every failure. */
export const ruleMatch = z.strictObject({
  causes: z.array(z.enum(FAILURE_CAUSES)).transform(unique).optional(),
  exitCodes: exitCodeList.optional(),
  exitCodesNotIn: exitCodeList.optional(),
  /** Glob with `*` and `?` over the whole reason. */
  reason: z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).optional(),
})
export type RuleMatch = z.output<typeof ruleMatch>

/** Maximum amount to which a slot, or memory, grows: plain decimal text once parsed; missing means unbounded. */
export const amountMax = z.union([z.string(), z.number()]).optional()

export const slotGrowth = z.strictObject({
  slot: z.string().min(1).max(SLOT_NAME_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT),
  /** What is multiplied; missing means REQUEST, the present amount. */
  from: z.enum(GROWTH_STARTS).optional(),
  factor: z.number().positive(),
  max: amountMax,
})
const exactSlotGrowth = slotGrowth.transform(({ slot, from, factor, max }, context): SlotGrowth => {
  return { slot, ...(from !== undefined && { from }), factor, ...exactMax(slot, max, context) }
})
export type SlotGrowth = Omit<z.output<typeof slotGrowth>, 'max'> & { max?: string }

export const gpuMemoryGrowth = z.strictObject({
  factor: z.number().positive(),
  /** Bytes. */
  max: amountMax,
})
const exactGpuMemoryGrowth = gpuMemoryGrowth.transform(({ factor, max }, context): GpuMemoryGrowth => {
  return { factor, ...exactMax('mem', max, context) }
})
export type GpuMemoryGrowth = Omit<SlotGrowth, 'slot' | 'from'>

export const timeoutGrowth = z.strictObject({
  factor: z.number().positive(),
  /** Seconds. */
  max: duration(z.number().positive().max(BATCH_TIMEOUT_SECONDS_MAX)).optional(),
})
export type TimeoutGrowth = z.output<typeof timeoutGrowth>

export const rule = z.strictObject({
  match: ruleMatch,
  action: z.enum(RULE_ACTIONS),
  /** Seconds; replaces the base of the formula. */
  delay: duration(z.number().nonnegative()).optional(),
  scaleResources: z.array(exactSlotGrowth).max(SLOTS_MAX).optional(),
  scaleGpuMemory: exactGpuMemoryGrowth.optional(),
  scaleTimeout: timeoutGrowth.optional(),
  /** A preference: the place is used anyway if there is no other. */
  avoid: z.enum(AVOIDANCES).optional(),
  /** A condition: the retry waits rather than use the place. */
  exclude: z.enum(EXCLUSIONS).optional(),
})
export type RetryRule = z.output<typeof rule>

const ONLY_FOR_RETRIES = ['delay', 'scaleResources', 'scaleGpuMemory', 'scaleTimeout', 'avoid', 'exclude'] as const

/**
 * The check also runs if a field is invalid, so that all errors are reported at once; values may then have any type.
 */
const when = ({ value }: z.core.ParsePayload): boolean => typeof value === 'object' && value !== null

const soundRule = ONLY_FOR_RETRIES.reduce(
  (schema, key) =>
    schema.refine((value) => value.action !== 'FAIL' || value[key] === undefined, {
      path: [key],
      message: 'Only for a rule that retries',
      when,
    }),
  rule.refine((value) => slotsAreUnique(value.scaleResources), {
    path: ['scaleResources'],
    message: 'Each slot at most once',
    when,
  }),
)

/** A complete policy. Durations are in seconds. For nullable fields, null is a value that can be given. */
export const retryPolicy = z.strictObject({
  /** Total attempts = 1 + maxRetries. */
  maxRetries: z.int().min(0).max(RETRIES_MAX),
  /**
   * The delay of each retry, in place of the formula; the last one repeats. Null: the formula, which the next four fields
   * define.
   */
  delays: z.array(givenDelay).min(1).max(DELAYS_MAX).nullable(),
  retryDelay: duration(z.number().positive()),
  backoff: z.enum(BACKOFFS),
  backoffMultiplier: z.number().positive(),
  /** Null means the hard ceiling. */
  maxRetryDelay: duration(z.number().positive()).nullable(),
  jitter: z.enum(JITTERS),
  jitterRatio: z.number().min(0).max(1),
  eligibleCauses: z
    .array(z.enum(ELIGIBLE_CAUSES))
    .transform((causes): EligibleCause[] => ELIGIBLE_CAUSES.filter((cause) => causes.includes(cause))),
  emitRetryEvents: z.boolean(),
  /** No retry starts later than this after the epoch's first attempt was created. */
  maxElapsed: duration(z.number().positive()).nullable(),
  /** If false, an attempt whose user code never started does not use up the budget. */
  countPreStartFailures: z.boolean(),
  /** The limit per epoch. */
  maxUncountedRetries: z.int().min(0).max(UNCOUNTED_RETRIES_MAX),
  /**
   * Whether retries follow the requests in verdict files. The reasons in these files are shown and matched in any case.
   */
  trustVerdicts: z.boolean(),
  /** Whether a retry goes where the checkpoint of earlier attempts is. */
  checkpoint: z.enum(CHECKPOINT_WISHES),
  /** How long a session that requires its checkpoint waits before it starts without. */
  checkpointWait: duration(z.number().positive()),
  /** Whether a retry runs the same image as the previous attempt, even if the tag has moved. */
  pinImage: z.boolean(),
  /** Whether a program fails that exits with 0 although the lack of memory killed one of its processes. */
  oomIsFailure: z.boolean(),
  /** An attempt without progress for this long has hung, and is stopped. */
  progressTimeout: duration(z.number().min(PROGRESS_TIMEOUT_SECONDS_MIN).max(BATCH_TIMEOUT_SECONDS_MAX)).nullable(),
  /** Ordered; the first match decides. */
  rules: z.array(soundRule).max(RULES_MAX),
})
/** A resolved policy. */
export type RetryPolicy = z.output<typeof retryPolicy>

/**
 * The policy if nobody states anything. Sessions do not store fields that have these values (`statedPolicy`). To change
 * a value, add a migration that writes the old one into the stored policies that lack the field.
 */
export const SHIPPED_POLICY: Readonly<RetryPolicy> = {
  maxRetries: 0,
  delays: null,
  retryDelay: 60,
  backoff: 'FIXED',
  backoffMultiplier: 2,
  maxRetryDelay: 3600,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.25,
  eligibleCauses: [...DEFAULT_CAUSES],
  emitRetryEvents: true,
  maxElapsed: null,
  countPreStartFailures: true,
  maxUncountedRetries: 10,
  trustVerdicts: true,
  checkpoint: 'PREFER',
  checkpointWait: 3600,
  pinImage: true,
  oomIsFailure: true,
  progressTimeout: null,
  rules: [],
}

/** The longest delay under this policy, in whole milliseconds. */
export function delayCeilingMs(policy: Pick<RetryPolicy, 'maxRetryDelay'>): number {
  if (policy.maxRetryDelay === null) return RETRY_DELAY_CEILING_MS
  return Math.min(Math.round(policy.maxRetryDelay * 1000), RETRY_DELAY_CEILING_MS)
}

function exactMax(slot: string, written: z.output<typeof amountMax>, context: z.RefinementCtx): { max?: string } {
  if (written === undefined) return {}
  const max = parseAmount(slot, written)
  // Otherwise amounts finer than scheduling can count would end up in a child's slots.
  if (max !== undefined && (max.split('.')[1] ?? '').length <= SLOT_FRACTION_DIGITS_MAX) return { max }
  const message = `Not an amount: a plain, non-negative decimal of at most ${SLOT_FRACTION_DIGITS_MAX} fraction digits`
  context.addIssue({ code: 'custom', path: ['max'], message })
  return z.NEVER
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
