const BINARY = ['', 'k', 'm', 'g', 't', 'p']

/** `8g`, `1.5`: as the command line takes it. */
export function amountWords(slot: string, amount: string): string {
  if (slot !== 'mem') return amount
  let value = Number(amount)
  let unit = 0
  while (value >= 1024 && value % 1 === 0 && value / 1024 >= 1 && unit < BINARY.length - 1) {
    value /= 1024
    unit++
  }
  return `${Number(value.toFixed(2))}${BINARY[unit]}`
}

interface Difference {
  field: string
  before?: string | null
  after: string | null
}

/** `mem 4g to 8g`, `LR = 0.1`, `without FLAG`. */
export function differenceWords({ field, before, after }: Difference): string {
  const name = field.slice(field.lastIndexOf('.') + 1)
  const slot = field.startsWith('resourceSlots.') ? name : ''
  const shown = (value: string) => amountWords(slot, value)
  if (after === null) return `without ${name}`
  return before == null ? `${name} = ${shown(after)}` : `${name} ${shown(before)} to ${shown(after)}`
}
