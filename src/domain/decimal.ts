/** An exact, non-negative decimal: `units / 10 ** scale`. Slot amounts are scaled and compared without floats. */
export interface Decimal {
  units: bigint
  scale: number
}

const PLAIN = /^(\d+)(?:\.(\d+))?$/
const PRINTED_NUMBER = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

/** Undefined if the text is not digits with at most one point between them. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = PLAIN.exec(text)
  return match ? fromDigits(match[1]!, match[2] ?? '', 0) : undefined
}

/** The shortest decimal that prints as this number: 1.3 is 13/10. Undefined for negative and non-finite numbers. */
export function decimalFromNumber(value: number): Decimal | undefined {
  const match = PRINTED_NUMBER.exec(String(value))
  return match ? fromDigits(match[1]!, match[2] ?? '', Number(match[3] ?? 0)) : undefined
}

/** Without redundant zeros: equal values print alike. */
export function formatDecimal(value: Decimal): string {
  if (value.scale === 0) return value.units.toString()
  const digits = value.units.toString().padStart(value.scale + 1, '0')
  const whole = digits.slice(0, -value.scale)
  const fraction = digits.slice(-value.scale).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** Both values in units of the finer of the two scales. */
function align(a: Decimal, b: Decimal): { a: bigint; b: bigint; scale: number } {
  const scale = Math.max(a.scale, b.scale)
  return { a: a.units * 10n ** BigInt(scale - a.scale), b: b.units * 10n ** BigInt(scale - b.scale), scale }
}

export function compareDecimals(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const aligned = align(a, b)
  if (aligned.a === aligned.b) return 0
  return aligned.a < aligned.b ? -1 : 1
}

export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale }
}

/** Cuts everything after `places` decimal places. */
export function floorDecimal(value: Decimal, places: number): Decimal {
  if (value.scale <= places) return value
  return { units: value.units / 10n ** BigInt(value.scale - places), scale: places }
}

export function isWhole(value: Decimal): boolean {
  return value.units % 10n ** BigInt(value.scale) === 0n
}

function fromDigits(whole: string, fraction: string, exponent: number): Decimal {
  const units = BigInt(whole + fraction)
  const scale = fraction.length - exponent
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 }
}
