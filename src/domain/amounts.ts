import { AMOUNT_DIGITS_MAX } from './limits.ts'

/**
 * Exact decimals, and slot amounts, which are such decimals behind the API: plain and non-negative, in bytes for memory.
 */

/** An exact, non-negative decimal: `units / 10 ** scale`. Slot amounts are scaled and compared without floats. */
export interface Decimal {
  units: bigint
  scale: number
}

const PLAIN = /^(\d+)(?:\.(\d+))?$/
const PRINTED_NUMBER = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

/** Parses digits with at most one decimal point; undefined for any other text. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = PLAIN.exec(text)
  return match ? fromDigits(match[1]!, match[2] ?? '', 0) : undefined
}

/** The shortest decimal that prints as this number: 1.3 is 13/10. Undefined for negative and non-finite numbers. */
export function decimalFromNumber(value: number): Decimal | undefined {
  const match = PRINTED_NUMBER.exec(String(value))
  return match ? fromDigits(match[1]!, match[2] ?? '', Number(match[3] ?? 0)) : undefined
}

/** Formats without redundant zeros, so that equal values print alike. */
export function formatDecimal(value: Decimal): string {
  if (value.scale === 0) return value.units.toString()
  const digits = value.units.toString().padStart(value.scale + 1, '0')
  const whole = digits.slice(0, -value.scale)
  const fraction = digits.slice(-value.scale).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

export function compareDecimals(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const aligned = align(a, b)
  if (aligned.a === aligned.b) return 0
  return aligned.a < aligned.b ? -1 : 1
}

export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale }
}

/** Truncates to `places` decimal places. */
export function floorDecimal(value: Decimal, places: number): Decimal {
  if (value.scale <= places) return value
  return { units: value.units / 10n ** BigInt(value.scale - places), scale: places }
}

export function isWhole(value: Decimal): boolean {
  return value.units % 10n ** BigInt(value.scale) === 0n
}

const BINARY_SUFFIXES = { k: 1n << 10n, m: 1n << 20n, g: 1n << 30n, t: 1n << 40n } as const

/** True for `mem` and for device memory such as `cuda.mem`. */
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

/** Formats an amount for display: `2.6 GiB`, `0.5`. */
export function describeAmount(slot: string, amount: string): string {
  if (!isByteSlot(slot)) return amount
  const bytes = Number(amount)
  for (const [suffix, factor] of Object.entries(BINARY_SUFFIXES).toReversed()) {
    if (bytes >= Number(factor)) return `${Number((bytes / Number(factor)).toFixed(2))} ${suffix.toUpperCase()}iB`
  }
  return `${amount} bytes`
}

/** Formats a number of bytes for display: `2.6 GiB`, `312 bytes`. */
export function describeBytes(bytes: number): string {
  return describeAmount('mem', String(bytes))
}

/** Converts both values to the finer of the two scales. */
function align(a: Decimal, b: Decimal): { a: bigint; b: bigint; scale: number } {
  const scale = Math.max(a.scale, b.scale)
  return { a: a.units * 10n ** BigInt(scale - a.scale), b: b.units * 10n ** BigInt(scale - b.scale), scale }
}

function fromDigits(whole: string, fraction: string, exponent: number): Decimal {
  const units = BigInt(whole + fraction)
  const scale = fraction.length - exponent
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 }
}

/** `GB` is not accepted: it means 1000³ to some people and 1024³ to others. */
const BYTE_UNIT = /([kmgt])(?:ib?)?$/i

function parseText(slot: string, text: string): Decimal | undefined {
  if (text.length > 2 * AMOUNT_DIGITS_MAX) return undefined
  const [unit, prefix] = (isByteSlot(slot) && BYTE_UNIT.exec(text)) || []
  if (unit === undefined) return parseDecimal(text)
  const number = parseDecimal(text.slice(0, -unit.length).trimEnd())
  const factor = BINARY_SUFFIXES[prefix!.toLowerCase() as keyof typeof BINARY_SUFFIXES]
  return number && multiplyDecimals(number, { units: factor, scale: 0 })
}

/** `1 retry`, `3 retries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
