import { AMOUNT_DIGITS_MAX } from './limits.ts'
import {
  decimalFromNumber,
  floorDecimal,
  formatDecimal,
  multiplyDecimals,
  parseDecimal,
  type Decimal,
} from './decimal.ts'

/** Slot amounts, in the form used everywhere behind the API: plain, exact, non-negative decimals; bytes for memory. */

const BINARY_SUFFIXES = { k: 1n << 10n, m: 1n << 20n, g: 1n << 30n, t: 1n << 40n } as const

/** `mem`, and device memory such as `cuda.mem`. */
export function isByteSlot(slot: string): boolean {
  return slot === 'mem' || slot.endsWith('.mem')
}

/**
 * Converts a client's input to plain decimal text. Byte slots accept binary units, `1.5g`, `512 MiB` or `4Gi`,
 * and are cut to whole bytes: `0.1g` is 107374182. Undefined if the input is not an amount.
 */
export function parseAmount(slot: string, input: string | number): string | undefined {
  const amount = typeof input === 'number' ? decimalFromNumber(input) : parseText(slot, input.trim())
  if (amount === undefined) return undefined
  const text = formatDecimal(isByteSlot(slot) ? floorDecimal(amount, 0) : amount)
  return text.replace('.', '').length <= AMOUNT_DIGITS_MAX ? text : undefined
}

/** For display: `2.6 GiB`, `0.5`. */
export function describeAmount(slot: string, amount: string): string {
  if (!isByteSlot(slot)) return amount
  const bytes = Number(amount)
  for (const [suffix, factor] of Object.entries(BINARY_SUFFIXES).toReversed()) {
    if (bytes >= Number(factor)) return `${Number((bytes / Number(factor)).toFixed(2))} ${suffix.toUpperCase()}iB`
  }
  return `${amount} bytes`
}

/** `GB` is left out: it means 1000³ to some, and 1024³ to others. */
const BYTE_UNIT = /([kmgt])(?:ib?)?$/i

function parseText(slot: string, text: string): Decimal | undefined {
  if (text.length > 2 * AMOUNT_DIGITS_MAX) return undefined
  const [unit, prefix] = (isByteSlot(slot) && BYTE_UNIT.exec(text)) || []
  if (unit === undefined) return parseDecimal(text)
  const number = parseDecimal(text.slice(0, -unit.length).trimEnd())
  const factor = BINARY_SUFFIXES[prefix!.toLowerCase() as keyof typeof BINARY_SUFFIXES]
  return number && multiplyDecimals(number, { units: factor, scale: 0 })
}
