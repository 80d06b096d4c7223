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
import type { RetryRule, RuleMatch, SlotGrowth, TimeoutGrowth } from './policy.ts'
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

export interface Growable {
  resourceSlots: Readonly<Record<string, string>>
  batchTimeout: number | null
}

/**
 * Grows slots and timeouts. Growth never lowers a value: new = max(previous, min(floor(previous × factor), max)),
 * computed exactly. Whole amounts stay whole; fractional ones (half a cpu, 2.5 s), and timeouts of a few whole seconds,
 * are cut after the third decimal place, because floor would undo the growth.
 */
export function applyGrowth(before: Growable, rule: Pick<RetryRule, 'scaleResources' | 'scaleTimeout'>): Growable {
  return {
    resourceSlots: scaleResources(before.resourceSlots, rule.scaleResources ?? []),
    batchTimeout: rule.scaleTimeout ? scaleTimeout(before.batchTimeout, rule.scaleTimeout) : before.batchTimeout,
  }
}

/** Scales the session's slots; slots that it does not have are not added. */
export function scaleResources(
  slots: Readonly<Record<string, string>>,
  growths: readonly SlotGrowth[],
): Record<string, string> {
  const grown = { ...slots }
  for (const { slot, factor, max } of growths) {
    const previous = Object.hasOwn(slots, slot) ? parseDecimal(slots[slot]!) : undefined
    if (previous === undefined) continue
    const bound = (max === undefined ? undefined : parseDecimal(max)) ?? LARGEST_AMOUNT
    grown[slot] = formatDecimal(grow(previous, { factor, max: bound, staysWhole: true }))
  }
  return grown
}

/** Scales a timeout in seconds; a session without a timeout stays without one. */
export function scaleTimeout(timeout: number | null, growth: TimeoutGrowth): number | null {
  const previous = timeout === null ? undefined : decimalFromNumber(timeout)
  const bound = decimalFromNumber(Math.min(growth.max ?? BATCH_TIMEOUT_SECONDS_MAX, BATCH_TIMEOUT_SECONDS_MAX))
  if (previous === undefined || bound === undefined) return timeout
  return Number(formatDecimal(grow(previous, { factor: growth.factor, max: bound, staysWhole: false })))
}

function grow(previous: Decimal, growth: { factor: number; max: Decimal; staysWhole: boolean }): Decimal {
  const exactFactor = decimalFromNumber(growth.factor)
  if (exactFactor === undefined) return previous
  const product = multiplyDecimals(previous, exactFactor)
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
