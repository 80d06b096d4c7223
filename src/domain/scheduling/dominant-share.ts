import type { Quantities, Quantity } from './quantity.ts'

/** An exact fraction; `total` is positive. */
export interface Share {
  used: Quantity
  total: Quantity
}

export const NO_SHARE: Share = { used: 0n, total: 1n }

/** The largest share over all slots of what is used out of the total. A slot without capacity does not count. */
export function dominantShare(used: Quantities, totals: Quantities): Share {
  let dominant = NO_SHARE
  for (const [slot, amount] of used) {
    const total = totals.get(slot) ?? 0n
    if (total > 0n && isLess(dominant, { used: amount, total })) dominant = { used: amount, total }
  }
  return dominant
}

/** Compares by cross multiplication: equal shares compare equal, which floating point would not guarantee. */
export function isLess(a: Share, b: Share): boolean {
  return a.used * b.total < b.used * a.total
}
