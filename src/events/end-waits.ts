import type { EventType, OutboxEvent } from '../domain/events.ts'
import { WAITED_ENDS_PER_LOOK_MAX } from '../domain/limits.ts'
import { readForServer } from '../services/consistent-reads.ts'
import { nextTurn } from '../services/next-turn.ts'
import type { Attachment, EventBus } from './bus.ts'

/** One client that waits for ends. */
export interface EndWait<End> {
  /**
   * The ends that were found, by key. Resolves when all have ended, with `any` when one has, and after `stop`. Rejects if
   * the database cannot be read.
   */
  readonly found: Promise<ReadonlyMap<string, End>>
  /** Stops waiting, as soon as each key has been looked at once. It may be called several times. */
  stop(): void
}

/** Waits for the ends of things that have events, such as chains, for all clients of this process together. */
export interface EndWaits<End> {
  wait(keys: readonly string[], options: { any: boolean }): EndWait<End>
  /** Number of clients that wait. */
  readonly waiting: number
}

interface Waiter<End> {
  any: boolean
  open: Set<string>
  /** Keys that have not been looked at since the client began to wait. */
  unseen: Set<string>
  found: Map<string, End>
  isStopped: boolean
  resolve: (found: ReadonlyMap<string, End>) => void
  reject: (error: unknown) => void
}

/**
 * A look is one statement about all keys that are new or have had an event. Looks follow one another, so that events
 * which arrive during a look share the next one. Nothing is missed: the bus is attached before the first look, and
 * publishes an event only after its transaction is visible.
 */
export function createEndWaits<End>(options: {
  bus: EventBus
  /** Types of the events that announce an end. */
  types: readonly EventType[]
  keyOf: (event: OutboxEvent) => string | null
  /** Reads those of these keys that have ended. */
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, End>>
}): EndWaits<End> {
  const { bus, keyOf, read } = options
  const types: ReadonlySet<EventType> = new Set(options.types)
  const waiters = new Set<Waiter<End>>()
  const byKey = new Map<string, Set<Waiter<End>>>()
  const due = new Set<string>()
  let attachment: Attachment | undefined
  let isLooking = false

  const sink = {
    push(event: OutboxEvent) {
      const key = keyOf(event)
      if (key === null || !byKey.has(key)) return
      due.add(key)
      void look()
    },
    miss() {
      for (const key of byKey.keys()) due.add(key)
      void look()
    },
    close() {
      for (const waiter of waiters) stop(waiter)
    },
  }

  function add(waiter: Waiter<End>): void {
    waiters.add(waiter)
    for (const key of waiter.open) {
      byKey.set(key, (byKey.get(key) ?? new Set<Waiter<End>>()).add(waiter))
      due.add(key)
    }
    attachment ??= bus.attach({ types }, sink)
    void look()
  }

  function forget(waiter: Waiter<End>, key: string): void {
    const ofKey = byKey.get(key)
    if (ofKey?.delete(waiter) && ofKey.size === 0) byKey.delete(key)
  }

  /** @returns whether the client still waited */
  function remove(waiter: Waiter<End>): boolean {
    if (!waiters.delete(waiter)) return false
    for (const key of waiter.open) forget(waiter, key)
    if (waiters.size > 0) return true
    attachment?.detach()
    attachment = undefined
    return true
  }

  function stop(waiter: Waiter<End>): void {
    waiter.isStopped = true
    settle(waiter)
  }

  function settle(waiter: Waiter<End>): void {
    const { any, open, unseen, found, isStopped, resolve } = waiter
    const isOver = open.size === 0 || (unseen.size === 0 && (isStopped || (any && found.size > 0)))
    if (isOver && remove(waiter)) resolve(found)
  }

  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    await readForServer(async () => {
      while (due.size > 0) {
        // Further events and clients of this turn join the look.
        await nextTurn()
        await lookAt(takeDue())
      }
      // Here, so that no key becomes due between the last look and the end of looking.
      isLooking = false
    })
  }

  function takeDue(): string[] {
    const keys: string[] = []
    for (const key of due) {
      if (keys.length === WAITED_ENDS_PER_LOOK_MAX) break
      due.delete(key)
      if (byKey.has(key)) keys.push(key)
    }
    return keys
  }

  async function lookAt(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const concerned = new Map(keys.map((key) => [key, [...(byKey.get(key) ?? [])]]))
    try {
      const ends = await read(keys)
      for (const [key, those] of concerned) for (const waiter of those) note(waiter, key, ends.get(key))
      for (const waiter of new Set([...concerned.values()].flat())) settle(waiter)
    } catch (error) {
      for (const waiter of new Set([...concerned.values()].flat())) if (remove(waiter)) waiter.reject(error)
    }
  }

  function note(waiter: Waiter<End>, key: string, end: End | undefined): void {
    waiter.unseen.delete(key)
    if (end === undefined || !waiter.open.delete(key)) return
    forget(waiter, key)
    waiter.found.set(key, end)
  }

  return {
    wait(keys, { any }) {
      const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, End>>()
      const [open, unseen] = [new Set(keys), new Set(keys)]
      const waiter: Waiter<End> = { any, open, unseen, found: new Map(), isStopped: false, resolve, reject }
      add(waiter)
      return { found: promise, stop: () => stop(waiter) }
    },
    get waiting() {
      return waiters.size
    },
  }
}
