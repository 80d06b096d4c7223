const UNITS = [
  [1024 ** 4, 't'],
  [1024 ** 3, 'g'],
  [1024 ** 2, 'm'],
  [1024, 'k'],
] as const

/** An amount as it may be typed: of memory `8g`, of others the number. */
export function slotWords(slot: string, amount: string): string {
  const value = Number(amount)
  if (slot !== 'mem' || value === 0) return amount
  const unit = UNITS.find(([size]) => value % size === 0)
  return unit ? `${value / unit[0]}${unit[1]}` : amount
}

/** `cpu 8, mem 64g` → pairs. What is no pair has no amount, which the server refuses. */
export function readSlots(text: string): { slot: string; amount: string }[] {
  return text
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [slot, ...amount] = each.split(/[\s=:]+/)
      return { slot: slot!, amount: amount.join(' ') }
    })
}
