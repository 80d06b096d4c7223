import { KEY_HOLDERS_SHOWN_MAX, QUEUE_POSITION_MAX } from '../limits.ts'

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
