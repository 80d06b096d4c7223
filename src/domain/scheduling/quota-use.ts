import { describeAmount } from '../amounts.ts'
import { formatQuantity, type Quantities, type Quantity } from './resource-request.ts'
import { KEY_HOLDERS_SHOWN_MAX, QUEUE_POSITION_MAX } from '../limits.ts'

/** The limits of one quota and its usage, which grows as sessions are placed. */
export interface QuotaUse {
  /** Display name: `project demo`. */
  name: string
  /** Slots without an entry are unlimited. */
  slots: Quantities
  usedSlots: Map<string, Quantity>
  maxRunning: number | null
  running: number
}

/** See Shortage. */
export interface QuotaShortage {
  short: string
  long: string
  /** The demand alone is more than the quota allows. */
  never: boolean
}

/** Finds the first quota with a shortage, and explains it. One that never allows the demand comes first. */
export function firstQuotaShortage(quotas: readonly QuotaUse[], demand: Quantities): QuotaShortage | undefined {
  let first: QuotaShortage | undefined
  for (const quota of quotas) {
    const shortage = quotaShortage(quota, demand)
    if (shortage?.never === true) return shortage
    first ??= shortage
  }
  return first
}

export function takeQuota(quota: QuotaUse, demand: Quantities): void {
  quota.running += 1
  for (const slot of quota.slots.keys()) {
    quota.usedSlots.set(slot, (quota.usedSlots.get(slot) ?? 0n) + (demand.get(slot) ?? 0n))
  }
}

/** A session's position in the queue of its key: by priority, then by age, over all resource groups. */
export interface KeyPosition {
  id: string
  priority: number
  /** Milliseconds since 1970. */
  createdAt: number
}

/** The number of sessions that hold a concurrency key; it grows as sessions are placed. */
export interface KeyUse {
  key: string
  held: number
  /** The smallest limit among the holders; infinite if there are none. */
  limit: number
  /** The first waiting session with this key that this pass does not try to place; null if there is none. */
  first: KeyPosition | null
}

export interface KeyCandidate extends KeyPosition {
  /** Null if the session has no key. */
  keyUse: KeyUse | null
  /** The session's own limit; meaningless without a key. */
  keyLimit: number
}

/**
 * Explains why the session has to wait for its key, in text that stays the same; undefined if it does not. A key has a
 * free place while the number of its holders is less than the smallest limit among the holders and the session.
 * `yields` means that there is a place, but other sessions come first.
 */
export function keyShortage(session: KeyCandidate): { short: string; yields: boolean } | undefined {
  const { keyUse: use, keyLimit } = session
  if (!use) return undefined
  const isFull = use.held >= Math.min(use.limit, keyLimit)
  const yields = !isFull && use.first !== null && isBefore(use.first, session)
  return isFull || yields ? { short: waitsFor(use.key), yields } : undefined
}

/** Counts the session among the holders of its key. */
export function takeKey({ keyUse: use, keyLimit }: KeyCandidate): void {
  if (!use) return
  use.held += 1
  use.limit = Math.min(use.limit, keyLimit)
}

/** A snapshot of one session's key and its holders. */
export interface HeldKey {
  key: string
  held: number
  /** The smallest limit among the holders and the session. */
  limit: number
  /** The ids of some holders. */
  holders: readonly string[]
  /** The number of waiting sessions before this one, counted up to QUEUE_POSITION_MAX + 1. */
  before: number
}

/** Explains why the session waits for its key, with names and numbers. */
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

/** Explains why a session with this total demand has to wait for the quota, with numbers; undefined if it does not. */
function quotaShortage(quota: QuotaUse, demand: Quantities): QuotaShortage | undefined {
  const slots = slotShortage(quota, demand)
  if (slots?.never === true || quota.maxRunning === null || quota.running < quota.maxRunning) return slots
  const short = `the quota of ${quota.name} allows ${quota.maxRunning} running sessions`
  return { short, long: `${short}, ${quota.running} run`, never: false }
}

function slotShortage(quota: QuotaUse, demand: Quantities): QuotaShortage | undefined {
  for (const [slot, limit] of quota.slots) {
    const asks = demand.get(slot) ?? 0n
    const used = quota.usedSlots.get(slot) ?? 0n
    if (asks === 0n || used + asks <= limit) continue
    const amount = (quantity: Quantity) => describeAmount(slot, formatQuantity(quantity))
    const short = `the quota of ${quota.name} allows ${slot} ${amount(limit)} in all, it asks for ${amount(asks)}`
    const never = asks > limit
    return { short, long: never ? `${short}: more than it ever allows` : `${short}, ${amount(used)} is in use`, never }
  }
  return undefined
}

function isBefore(a: KeyPosition, b: KeyPosition): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  return a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt
}

function waitsFor(key: string): string {
  return `waits for the concurrency key ${key}`
}
