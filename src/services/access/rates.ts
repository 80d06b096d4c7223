import { RATES_REMEMBERED_MAX } from '../../domain/limits.ts'

/** Counts what each of many parties does against a rate, with a burst of what accrues in BURST_SECONDS. */
export interface Rates {
  /** Whether the party may do it now, which then counts. */
  take(party: string): boolean
  /** The same without counting. */
  allows(party: string): boolean
}

const BURST_SECONDS = 10

/** @param perSecond 0: no limit */
export function createRates(perSecond: number, now: () => number = () => performance.now() / 1_000): Rates {
  const burst = perSecond * BURST_SECONDS
  /** Who has not used up anything is not in it. In the order of their last uses. */
  const used = new Map<string, { amount: number; at: number }>()

  function usedBy(party: string): number {
    const known = used.get(party)
    return known ? Math.max(0, known.amount - (now() - known.at) * perSecond) : 0
  }

  const allows = (party: string) => perSecond === 0 || usedBy(party) + 1 <= burst
  return {
    allows,
    take(party) {
      if (perSecond === 0) return true
      if (!allows(party)) return false
      const amount = usedBy(party) + 1
      used.delete(party)
      used.set(party, { amount, at: now() })
      if (used.size > RATES_REMEMBERED_MAX) used.delete(used.keys().next().value!)
      return true
    },
  }
}
