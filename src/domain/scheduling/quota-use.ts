import { describeAmount } from '../amounts.ts'
import { formatQuantity, type Quantities, type Quantity } from './quantity.ts'

/** What one quota allows and how much of it is taken; used up as sessions are placed. */
export interface QuotaUse {
  /** For display: `project demo`. */
  name: string
  /** Slots that are not named are not limited. */
  slots: Quantities
  usedSlots: Map<string, Quantity>
  maxRunning: number | null
  running: number
}

/** Why a session with this total demand has to wait for the quota, in words with numbers; undefined if it does not. */
function quotaShortage(quota: QuotaUse, demand: Quantities): { short: string; long: string } | undefined {
  if (quota.maxRunning !== null && quota.running >= quota.maxRunning) {
    const short = `the quota of ${quota.name} allows ${quota.maxRunning} running sessions`
    return { short, long: `${short}, ${quota.running} run` }
  }
  for (const [slot, limit] of quota.slots) {
    const asks = demand.get(slot) ?? 0n
    const used = quota.usedSlots.get(slot) ?? 0n
    if (asks === 0n || used + asks <= limit) continue
    const amount = (quantity: Quantity) => describeAmount(slot, formatQuantity(quantity))
    const short = `the quota of ${quota.name} allows ${slot} ${amount(limit)} in all, it asks for ${amount(asks)}`
    return { short, long: asks > limit ? `${short}: more than it ever allows` : `${short}, ${amount(used)} is in use` }
  }
  return undefined
}

/** The shortage under the first of these quotas that has one. */
export function firstQuotaShortage(
  quotas: readonly QuotaUse[],
  demand: Quantities,
): { short: string; long: string } | undefined {
  for (const quota of quotas) {
    const shortage = quotaShortage(quota, demand)
    if (shortage) return shortage
  }
  return undefined
}

export function takeQuota(quota: QuotaUse, demand: Quantities): void {
  quota.running += 1
  for (const slot of quota.slots.keys()) {
    quota.usedSlots.set(slot, (quota.usedSlots.get(slot) ?? 0n) + (demand.get(slot) ?? 0n))
  }
}
