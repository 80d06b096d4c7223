import { formatDecimal } from '../decimal.ts'
import { SLOT_FRACTION_DIGITS_MAX } from '../limits.ts'

/**
 * Exact slot amounts, in whole billionths: decimals of one scale. Placement adds and compares hundreds of thousands of them, and floating
 * point would oversell after a few thousand kernels of `cpu: 0.1`.
 */
export type Quantity = bigint

/** @throws RangeError if the text is not a plain decimal of at most 9 fraction digits */
export function parseQuantity(text: string): Quantity {
  const match = /^(-?\d{1,30})(?:\.(\d{1,9}))?$/.exec(trimZeros(text))
  if (!match) throw new RangeError(`no amount of a slot: ${text}`)
  const whole = match[1]!
  const fraction = (match[2] ?? '').padEnd(SLOT_FRACTION_DIGITS_MAX, '0')
  return BigInt(whole + fraction)
}

export function formatQuantity(quantity: Quantity): string {
  const text = formatDecimal({ units: quantity < 0n ? -quantity : quantity, scale: SLOT_FRACTION_DIGITS_MAX })
  return quantity < 0n ? `-${text}` : text
}

/** PostgreSQL's numeric may have zeros beyond the ninth digit. */
function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text
}

export type Quantities = ReadonlyMap<string, Quantity>

export function parseQuantities(amounts: Readonly<Record<string, string>>): Map<string, Quantity> {
  return new Map(Object.entries(amounts).map(([slot, amount]) => [slot, parseQuantity(amount)]))
}

export function addQuantities(to: Map<string, Quantity>, amounts: Quantities): void {
  for (const [slot, amount] of amounts) to.set(slot, (to.get(slot) ?? 0n) + amount)
}
