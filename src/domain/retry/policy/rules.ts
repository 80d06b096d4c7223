import { AMOUNT_DIGITS_MAX, BATCH_TIMEOUT_SECONDS_MAX } from '../../limits.ts'
import {
  compareDecimals,
  type Decimal,
  decimalFromNumber,
  floorDecimal,
  formatDecimal,
  isWhole,
  multiplyDecimals,
  parseDecimal,
} from '../../amounts.ts'
import { exitCodesInclude } from './exit-codes.ts'
import type { GpuMemoryGrowth, RetryRule, RuleMatch, SlotGrowth, TimeoutGrowth } from './policy.ts'
import { GPU_SLOTS, gpusAskedFor, type GpuNeed } from '../../gpu.ts'
import type { FailureCause } from '../../session/failure.ts'

/**
 * Whether the whole text matches a pattern of `*` (any run) and `?` (any one character). It backtracks to the last `*`
 * only, so it takes at most pattern length × text length steps.
 */
export function globMatches(pattern: string, text: string): boolean {
  const wanted = [...pattern]
  const given = [...text]
  let at = 0
  let star = -1
  let starAt = 0
  for (let i = 0; i < given.length;) {
    if (wanted[at] === '*') {
      star = at++
      starAt = i
    } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[i])) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++starAt
    } else {
      return false
    }
  }
  while (wanted[at] === '*') at++
  return at === wanted.length
}

const FRACTION_PLACES = 3
const LARGEST_AMOUNT: Decimal = { units: 10n ** BigInt(AMOUNT_DIGITS_MAX) - 1n, scale: 0 }

/** No driver reports as much, and it is exact as a number. */
const LARGEST_GPU_MEMORY: Decimal = { units: BigInt(Number.MAX_SAFE_INTEGER), scale: 0 }

export interface Growable {
  resourceSlots: Readonly<Record<string, string>>
  batchTimeout: number | null
  gpuNeed: GpuNeed | null
  /** Memory of the largest GPU that the failed attempt had; null if it is unknown, or if no rule concerns it. */
  hadGpuMemoryBytes: number | null
  /** Peak memory of the kernel of the failed attempt that used the most; null if it is unknown, or if no rule concerns it. */
  peakMemoryBytes: number | null
}

/** What growth depends on in a failure. */
export interface GrowthCause {
  /** The name of the failure, such as `task-timeout`; null if it is unknown. */
  name: string | null
  exitCode: number | null
}

/**
 * Grows slots, GPU memory and timeouts. Growth never lowers a value: new = max(previous, min(floor(start × factor), max)),
 * computed exactly, where growth starts from the previous value, or for slots from what the attempt used of them.
 * Nothing grows after a preemption, and the timeout only after a timeout. Whole amounts stay whole; fractional ones (half a cpu, 2.5 s), and timeouts of a few whole seconds,
 * are cut after the third decimal place, because floor would undo the growth.
 */
export function applyGrowth(before: Growable, rule: GrowingRule, cause: GrowthCause): Growable {
  if (isPreempted(cause)) return before
  const { scaleTimeout: growth, scaleGpuMemory: gpuGrowth } = rule
  return {
    ...before,
    gpuNeed: gpuGrowth ? scaleGpuMemory(before, gpuGrowth) : before.gpuNeed,
    resourceSlots: scaleResources(before.resourceSlots, rule.scaleResources ?? [], before.peakMemoryBytes),
    batchTimeout: growth && isTimeout(rule, cause) ? scaleTimeout(before.batchTimeout, growth) : before.batchTimeout,
  }
}

type GrowingRule = Pick<RetryRule, 'match' | 'scaleResources' | 'scaleGpuMemory' | 'scaleTimeout'>

export function isPreempted({ name }: Pick<GrowthCause, 'name'>): boolean {
  return name === 'preempted'
}

/**
 * Whether the attempt ran out of time: by its batch timeout, or by its program's own account, which is an exit code that
 * the rule names (`timeout` exits with 124).
 */
function isTimeout({ match }: Pick<RetryRule, 'match'>, { name, exitCode }: GrowthCause): boolean {
  if (name === 'task-timeout') return true
  const isOwnEnd = name === null || name === 'kernel-exited'
  return isOwnEnd && exitCode !== null && match.exitCodes !== undefined && exitCodesInclude(match.exitCodes, exitCode)
}

/** Scales the session's slots; slots that it does not have are not added. */
export function scaleResources(
  slots: Growable['resourceSlots'],
  growths: readonly SlotGrowth[],
  peakMemoryBytes: number | null = null,
): Record<string, string> {
  const grown = { ...slots }
  for (const growth of growths) {
    const { slot, factor, max } = growth
    const previous = amountOf(slots, slot)
    if (previous === undefined) continue
    const bound = (max === undefined ? undefined : parseDecimal(max)) ?? LARGEST_AMOUNT
    const peak = startOf({ resourceSlots: slots, peakMemoryBytes }, growth)
    const start = peak.kind === 'measured' ? peak.amount : previous
    grown[slot] = formatDecimal(grow(previous, { start, factor, max: bound, staysWhole: true }))
  }
  return grown
}

function amountOf(slots: Growable['resourceSlots'], slot: string): Decimal | undefined {
  return Object.hasOwn(slots, slot) ? parseDecimal(slots[slot]!) : undefined
}

type GrowthStart =
  /** From the amount that the attempt had. */
  | { kind: 'request' }
  /** The same, because its peak is unknown. */
  | { kind: 'unknown' }
  /** The same, because an attempt that used nearly all of its amount may have needed more. */
  | { kind: 'limited'; amount: Decimal }
  | { kind: 'measured'; amount: Decimal }

const HUNDRED: Decimal = { units: 100n, scale: 0 }
/** From this share of the amount on, a peak means "at least". */
const LIMITED_FROM_PERCENT: Decimal = { units: 95n, scale: 0 }

/** Returns where the growth of a slot starts. Of the slots, only the use of memory is measured. */
export function startOf(
  before: Pick<Growable, 'resourceSlots' | 'peakMemoryBytes'>,
  { slot, from }: Pick<SlotGrowth, 'slot' | 'from'>,
): GrowthStart {
  if (from !== 'PEAK') return { kind: 'request' }
  const limit = amountOf(before.resourceSlots, slot)
  const peak = slot !== 'mem' || before.peakMemoryBytes === null ? undefined : decimalFromNumber(before.peakMemoryBytes)
  if (peak === undefined || limit === undefined) return { kind: 'unknown' }
  const isLimited = compareDecimals(multiplyDecimals(peak, HUNDRED), multiplyDecimals(limit, LIMITED_FROM_PERCENT)) >= 0
  return { kind: isLimited ? 'limited' : 'measured', amount: peak }
}

/** The memory of each GPU from which growth starts: what the session asks for, or else what it had; null if unknown. */
export function gpuMemoryOf({ gpuNeed, hadGpuMemoryBytes }: Growable): number | null {
  return gpuNeed?.memoryBytes ?? hadGpuMemoryBytes
}

export function asksForGpus({ resourceSlots }: Pick<Growable, 'resourceSlots'>): boolean {
  return GPU_SLOTS.some((slot) => gpusAskedFor(resourceSlots, slot) > 0)
}

/** Scales the memory that each GPU must have. A session without GPUs, or of unknown memory, asks for the same as before. */
function scaleGpuMemory(before: Growable, { factor, max }: GpuMemoryGrowth): GpuNeed | null {
  const { gpuNeed } = before
  const start = gpuMemoryOf(before)
  const previous = start === null || !asksForGpus(before) ? undefined : decimalFromNumber(start)
  if (previous === undefined) return gpuNeed
  const bound = lesser((max === undefined ? undefined : parseDecimal(max)) ?? LARGEST_GPU_MEMORY, LARGEST_GPU_MEMORY)
  const grown = grow(previous, { factor, max: bound, staysWhole: true })
  if (compareDecimals(grown, previous) === 0) return gpuNeed
  return { model: gpuNeed?.model ?? null, memoryBytes: Number(formatDecimal(grown)) }
}

/** Scales a timeout in seconds; a session without a timeout stays without one. */
export function scaleTimeout(timeout: number | null, growth: TimeoutGrowth): number | null {
  const previous = timeout === null ? undefined : decimalFromNumber(timeout)
  const bound = decimalFromNumber(Math.min(growth.max ?? BATCH_TIMEOUT_SECONDS_MAX, BATCH_TIMEOUT_SECONDS_MAX))
  if (previous === undefined || bound === undefined) return timeout
  return Number(formatDecimal(grow(previous, { factor: growth.factor, max: bound, staysWhole: false })))
}

interface Growth {
  /** What is multiplied; missing means the previous value. */
  start?: Decimal
  factor: number
  max: Decimal
  staysWhole: boolean
}

function grow(previous: Decimal, growth: Growth): Decimal {
  const exactFactor = decimalFromNumber(growth.factor)
  if (exactFactor === undefined) return previous
  const product = multiplyDecimals(growth.start ?? previous, exactFactor)
  const grown = (places: number) => {
    const wanted = lesser(floorDecimal(product, places), growth.max)
    return compareDecimals(wanted, previous) > 0 ? wanted : null
  }
  const whole = isWhole(previous) ? grown(0) : null
  if (whole !== null || (isWhole(previous) && growth.staysWhole)) return whole ?? previous
  return grown(FRACTION_PLACES) ?? previous
}

function lesser(a: Decimal, b: Decimal): Decimal {
  return compareDecimals(a, b) <= 0 ? a : b
}

/** The facts that rules match on. */
export interface FailureFacts {
  /** Null if unknown: in a preview without a cause. */
  cause: FailureCause | null
  /**
   * Null if the failure has no exit code, for example because the image was not found. No condition on exit codes then
   * matches.
   */
  exitCode: number | null
  /** The session's reason and the error's name; a glob may match any of them. */
  reasons: readonly string[]
}

export interface MatchedRule {
  /** Position in `policy.rules`, from 0. */
  index: number
  rule: RetryRule
}

export function firstMatch(rules: readonly RetryRule[], facts: FailureFacts): MatchedRule | null {
  const index = rules.findIndex((rule) => ruleMatches(rule.match, facts))
  return index < 0 ? null : { index, rule: rules[index]! }
}

export function ruleMatches(match: RuleMatch, facts: FailureFacts): boolean {
  const { cause, exitCode, reasons } = facts
  const { causes, exitCodes, exitCodesNotIn, reason } = match
  if (causes && (cause === null || !causes.includes(cause))) return false
  if (exitCodes && (exitCode === null || !exitCodesInclude(exitCodes, exitCode))) return false
  if (exitCodesNotIn && (exitCode === null || exitCodesInclude(exitCodesNotIn, exitCode))) return false
  return reason === undefined || reasons.some((text) => globMatches(reason, text))
}
