const BINARY = ['', 'k', 'm', 'g', 't', 'p']

/** Of a resource: `8g`, `1.5`, as the command line takes it. */
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

/** The same to three digits, for where it is only looked at: `1.17g`, `0.25`, `1204`. */
export function roughAmount(slot: string, amount: string): string {
  let value = Number(amount)
  let unit = 0
  const unitMax = slot === 'mem' ? BINARY.length - 1 : 0
  while (value >= 1024 && unit < unitMax) {
    value /= 1024
    unit++
  }
  const rounded = value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
  return `${rounded}${BINARY[unit]}`
}
