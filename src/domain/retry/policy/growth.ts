import { AMOUNT_DIGITS_MAX, BATCH_TIMEOUT_SECONDS_MAX } from '../../limits.ts'
import {
  compareDecimals,
  decimalFromNumber,
  floorDecimal,
  formatDecimal,
  isWhole,
  multiplyDecimals,
  parseDecimal,
  type Decimal,
} from '../../decimal.ts'
import type { RetryRule, SlotGrowth, TimeoutGrowth } from './policy.ts'

/**
 * Growth never lowers a value: new = max(previous, min(floor(previous × factor), max)), computed exactly. Whole amounts
 * stay whole; fractional ones (half a cpu, 2.5 s) are cut after the third decimal place, because floor would undo the
 * growth.
 */

const FRACTION_PLACES = 3
const LARGEST_AMOUNT: Decimal = { units: 10n ** BigInt(AMOUNT_DIGITS_MAX) - 1n, scale: 0 }

export interface Growable {
  resourceSlots: Readonly<Record<string, string>>
  batchTimeout: number | null
}

export function applyGrowth(before: Growable, rule: Pick<RetryRule, 'scaleResources' | 'scaleTimeout'>): Growable {
  return {
    resourceSlots: scaleResources(before.resourceSlots, rule.scaleResources ?? []),
    batchTimeout: rule.scaleTimeout ? scaleTimeout(before.batchTimeout, rule.scaleTimeout) : before.batchTimeout,
  }
}

/** Slots that the session does not have are not added. */
export function scaleResources(
  slots: Readonly<Record<string, string>>,
  growths: readonly SlotGrowth[],
): Record<string, string> {
  const grown = { ...slots }
  for (const { slot, factor, max } of growths) {
    const previous = Object.hasOwn(slots, slot) ? parseDecimal(slots[slot]!) : undefined
    if (previous === undefined) continue
    const bound = (max === undefined ? undefined : parseDecimal(max)) ?? LARGEST_AMOUNT
    grown[slot] = formatDecimal(grow(previous, factor, bound))
  }
  return grown
}

/** In seconds; a session without a timeout stays without one. */
export function scaleTimeout(timeout: number | null, growth: TimeoutGrowth): number | null {
  const previous = timeout === null ? undefined : decimalFromNumber(timeout)
  const bound = decimalFromNumber(Math.min(growth.max ?? BATCH_TIMEOUT_SECONDS_MAX, BATCH_TIMEOUT_SECONDS_MAX))
  if (previous === undefined || bound === undefined) return timeout
  return Number(formatDecimal(grow(previous, growth.factor, bound)))
}

function grow(previous: Decimal, factor: number, max: Decimal): Decimal {
  const exactFactor = decimalFromNumber(factor)
  if (exactFactor === undefined) return previous
  const places = isWhole(previous) ? 0 : FRACTION_PLACES
  const wanted = lesser(floorDecimal(multiplyDecimals(previous, exactFactor), places), max)
  return compareDecimals(wanted, previous) > 0 ? wanted : previous
}

function lesser(a: Decimal, b: Decimal): Decimal {
  return compareDecimals(a, b) <= 0 ? a : b
}
