import type { Quantities, Quantity } from './quantity.ts'

/** An exact fraction; `total` is positive. */
export interface Share {
  used: Quantity
  total: Quantity
}

export const NO_SHARE: Share = { used: 0n, total: 1n }

/** The largest share, of all slots, of what there is in all. A slot that nobody has counts for nothing. */
export function dominantShare(used: Quantities, totals: Quantities): Share {
  let dominant = NO_SHARE
  for (const [slot, amount] of used) {
    const total = totals.get(slot) ?? 0n
    if (total > 0n && isLess(dominant, { used: amount, total })) dominant = { used: amount, total }
  }
  return dominant
}

/** By cross multiplication: equal shares are equal, which floating point would not promise. */
export function isLess(a: Share, b: Share): boolean {
  return a.used * b.total < b.used * a.total
}
