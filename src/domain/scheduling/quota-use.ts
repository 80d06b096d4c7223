import { describeAmount } from '../amounts.ts'
import { formatQuantity, type Quantities, type Quantity } from './resource-request.ts'
import { KEY_HOLDERS_SHOWN_MAX, QUEUE_POSITION_MAX } from '../limits.ts'

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

/** A session's position in the queue of its key: by priority, then by age, whatever the resource group. */
export interface KeyPosition {
  id: string
  priority: number
  /** Milliseconds since 1970. */
  createdAt: number
}

/** How many sessions hold a concurrency key; counted up as sessions are placed. */
export interface KeyUse {
  key: string
  held: number
  /** The smallest limit of those that hold it; infinite if none does. */
  limit: number
  /** The first of those that wait for it and are not themselves considered; null for none. */
  first: KeyPosition | null
}

export interface KeyCandidate extends KeyPosition {
  /** Null without a key. */
  keyUse: KeyUse | null
  /** Its own limit; of no meaning without a key. */
  keyLimit: number
}

/**
 * Why it has to wait for its key, in words that stay the same; undefined if it does not. A key has a place while fewer
 * hold it than each of them, and the candidate, allows. `yields`: there is a place, but others come first.
 */
export function keyShortage(session: KeyCandidate): { short: string; yields: boolean } | undefined {
  const { keyUse: use, keyLimit } = session
  if (!use) return undefined
  const isFull = use.held >= Math.min(use.limit, keyLimit)
  const yields = !isFull && use.first !== null && isBefore(use.first, session)
  return isFull || yields ? { short: waitsFor(use.key), yields } : undefined
}

/** The session was placed. */
export function takeKey({ keyUse: use, keyLimit }: KeyCandidate): void {
  if (!use) return
  use.held += 1
  use.limit = Math.min(use.limit, keyLimit)
}

function isBefore(a: KeyPosition, b: KeyPosition): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  return a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt
}

/** What holds up one session's key, at one moment. */
export interface HeldKey {
  key: string
  held: number
  /** The smallest limit of those that hold it and of the session. */
  limit: number
  /** The ids of some that hold it. */
  holders: readonly string[]
  /** How many wait for it that come before the session, counted up to QUEUE_POSITION_MAX + 1. */
  before: number
}

/** The same with names and numbers. */
export function explainKey({ key, held, limit, holders, before }: HeldKey): string | undefined {
  const isFull = held >= limit
  if (!isFull && before === 0) return undefined
  const many = before > QUEUE_POSITION_MAX ? `more than ${QUEUE_POSITION_MAX}` : String(before)
  const queue = before === 0 ? '' : `; ${many} ${before === 1 ? 'session comes' : 'sessions come'} first`
  if (!isFull) return `${waitsFor(key)}${queue}`
  const shown = holders.slice(0, KEY_HOLDERS_SHOWN_MAX)
  const names = shown.join(', ') + (held > shown.length ? ', …' : '')
  const holding = held === 1 ? `which session ${names} holds` : `which ${held} sessions hold: ${names}`
  return `${waitsFor(key)}, ${holding}${queue}`
}

function waitsFor(key: string): string {
  return `waits for the concurrency key ${key}`
}
