import { compareDecimals, parseDecimal } from '../../amounts.ts'
import type { ChildSize } from '../../retry/verdict.ts'

/** How a size compares with another one: larger, smaller or equal in every respect; null if neither. */
export type SizeOrder = -1 | 0 | 1 | null

export function compareSizes(one: ChildSize | null, other: ChildSize | null): SizeOrder {
  if (one === null || other === null) return one === other ? 0 : null
  const slots = new Set([...Object.keys(one.resourceSlots), ...Object.keys(other.resourceSlots)])
  const orders: SizeOrder[] = [...slots].map((slot) =>
    compareAmounts(one.resourceSlots[slot], other.resourceSlots[slot]),
  )
  orders.push(compareLimits(one.batchTimeout, other.batchTimeout), compareGpus(one.gpuNeed, other.gpuNeed))
  return orders.reduce(both, 0)
}

function both(one: SizeOrder, other: SizeOrder): SizeOrder {
  if (one === 0 || other === 0) return one === 0 ? other : one
  return one === other ? one : null
}

function compareAmounts(one: string | undefined, other: string | undefined): SizeOrder {
  const [left, right] = [parseDecimal(one ?? '0'), parseDecimal(other ?? '0')]
  return left && right ? compareDecimals(left, right) : null
}

/** No limit is the largest. */
function compareLimits(one: number | null, other: number | null): SizeOrder {
  const difference = (one ?? Infinity) - (other ?? Infinity)
  return difference > 0 ? 1 : difference < 0 ? -1 : 0
}

/** A change of the model is neither larger nor smaller. */
function compareGpus(one: ChildSize['gpuNeed'], other: ChildSize['gpuNeed']): SizeOrder {
  if ((one?.model ?? null) !== (other?.model ?? null)) return null
  const difference = (one?.memoryBytes ?? 0) - (other?.memoryBytes ?? 0)
  return difference > 0 ? 1 : difference < 0 ? -1 : 0
}
