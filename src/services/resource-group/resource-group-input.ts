import { z } from 'zod'
import {
  EXECUTOR_OPTIONS_MAX,
  FENCE_AFTER_MIN_SECONDS,
  GROUP_TIMEOUT_MAX_SECONDS,
  GROUP_TRIES_MAX,
  REASON_LENGTH_MAX,
} from '../../domain/limits.ts'
import type { ValidationIssue } from '../../domain/errors.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { executorOptionKey, executorOptions } from '../session/session-fields.ts'
import type { GroupOptions } from '../../store/sql/resource-group/resource-groups.sql.ts'

const MS = 1_000
const seconds = (min: number) =>
  z
    .number()
    .min(min)
    .max(GROUP_TIMEOUT_MAX_SECONDS)
    .transform((value) => Math.round(value * MS))
const timeout = seconds(1 / MS)

export const drainReason = z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT)

const areDistinct = (words: readonly string[]) => new Set(words).size === words.length
const NAMED_ONCE = 'must be named once each'

/** A missing field, or null where null is not allowed, leaves an option as it is. Durations are seconds. */
export const groupOptions = z.strictObject({
  sequencer: z.enum(['FIFO', 'LIFO', 'DRF']).nullish(),
  selector: z.enum(['CONCENTRATED', 'DISPERSED', 'ROUND_ROBIN']).nullish(),
  maxTries: z.int().min(1).max(GROUP_TRIES_MAX).nullish(),
  maxReschedules: z.int().min(0).max(GROUP_TRIES_MAX).nullish(),
  pendingTimeout: timeout.nullish(),
  prepareTimeout: timeout.nullish(),
  createTimeout: timeout.nullish(),
  queueTimeout: timeout.nullish(),
  terminateTimeout: timeout.nullish(),
  fenceAfter: seconds(FENCE_AFTER_MIN_SECONDS).nullish(),
  stopGrace: seconds(0).nullish(),
  allowedSessionTypes: z
    .array(z.enum(['BATCH', 'INTERACTIVE', 'INFERENCE']))
    .min(1)
    .refine(areDistinct, NAMED_ONCE)
    .nullish(),
  executorOptions: executorOptions.nullish(),
  allowedExecutorOptions: z
    .array(executorOptionKey)
    .max(EXECUTOR_OPTIONS_MAX)
    .refine(areDistinct, NAMED_ONCE)
    .nullish(),
  draining: z.boolean().nullish(),
  drainReason: drainReason.nullish(),
})

type ParsedOptions = z.output<typeof groupOptions>

/** The group's columns for these options. Null removes the optional timeouts. */
export function changedOptions(before: GroupOptions, input: ParsedOptions): GroupOptions {
  const liftable = (given: number | null | undefined, present: number | null) => (given === undefined ? present : given)
  const draining = input.draining ?? before.draining
  return {
    sequencer: input.sequencer ?? before.sequencer,
    selector: input.selector ?? before.selector,
    triesMax: input.maxTries ?? before.triesMax,
    reschedulesMax: input.maxReschedules ?? before.reschedulesMax,
    pendingTimeoutMs: liftable(input.pendingTimeout, before.pendingTimeoutMs),
    prepareTimeoutMs: liftable(input.prepareTimeout, before.prepareTimeoutMs),
    createTimeoutMs: liftable(input.createTimeout, before.createTimeoutMs),
    queueTimeoutMs: liftable(input.queueTimeout, before.queueTimeoutMs),
    terminateTimeoutMs: input.terminateTimeout ?? before.terminateTimeoutMs,
    fenceAfterMs: input.fenceAfter ?? before.fenceAfterMs,
    stopGraceMs: input.stopGrace ?? before.stopGraceMs,
    allowedSessionTypes: input.allowedSessionTypes ?? before.allowedSessionTypes,
    executorOptions: input.executorOptions ?? before.executorOptions,
    allowedExecutorOptions: input.allowedExecutorOptions ?? before.allowedExecutorOptions,
    draining,
    drainReason: draining ? (input.drainReason === undefined ? before.drainReason : input.drainReason) : null,
  }
}

/** Problems that lie in the combination of options. */
export function optionIssues(
  { terminateTimeoutMs, stopGraceMs }: GroupOptions,
  input: ParsedOptions,
): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  if (stopGraceMs >= terminateTimeoutMs) {
    const path = input.stopGrace == null ? 'terminateTimeout' : 'stopGrace'
    issues.push({ path, message: 'stopGrace must be less than terminateTimeout' })
  }
  if (input.drainReason != null && input.draining === false) {
    issues.push({ path: 'drainReason', message: 'only for a group that is drained' })
  }
  return issues
}
