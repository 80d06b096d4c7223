import { HEAD_OF_LINE_SKIPS_MAX } from '../limits.ts'
import { addQuantities, type Quantities, type Quantity, type ResourceRequest, totalOf } from './resource-request.ts'

export type Sequencer = 'FIFO' | 'LIFO' | 'DRF'

export interface Sequenced {
  id: string
  /** Higher priorities go first, with every sequencer. */
  priority: number
  /** Milliseconds since 1970. */
  createdAt: number
  /** The user, or the project if there is none. DRF computes shares by owner. */
  owner: string
  request: ResourceRequest
  skips: number
}

/**
 * The order of placement. In each priority band the overdue sessions come first, oldest first: other sessions were
 * placed before them too often. The others follow in the sequencer's order.
 */
export interface Sequence<Session extends Sequenced> {
  /** Whether later sessions go first. */
  readonly youngestFirst: boolean
  /**
   * Returns the next session. Undefined if all had their turn, or if the session whose turn it is may not have been
   * read from the database (see `ranOut`).
   */
  next(): Session | undefined
  /** Reports that the session last returned by `next` was placed. */
  placed(): void
  /**
   * Reports that the scheduling class of the session last returned by `next` may have more waiting sessions, which were
   * not read from the database.
   */
  ranOut(): void
}

export function isOverdue({ skips }: Pick<Sequenced, 'skips'>): boolean {
  return skips >= HEAD_OF_LINE_SKIPS_MAX
}

/** Orders sessions oldest first. */
export function compareAge(a: Sequenced, b: Sequenced): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

/**
 * Creates a sequence by age. `sessions` contains the first `covered` sessions of the line without gaps; of the sessions
 * after those, it contains only the first few of each class.
 */
export function inOrderOfAge<Session extends Sequenced>(
  sessions: readonly Session[],
  youngestFirst: boolean,
  covered: number,
): Sequence<Session> {
  const direction = youngestFirst ? -1 : 1
  const order = sessions.toSorted((a, b) => b.priority - a.priority || direction * compareAge(a, b))
  const placeOf = new Map(order.map((session, index) => [session, index]))
  const turns = order.toSorted(
    (a, b) =>
      b.priority - a.priority ||
      Number(isOverdue(b)) - Number(isOverdue(a)) ||
      (isOverdue(a) ? compareAge(a, b) : placeOf.get(a)! - placeOf.get(b)!),
  )
  let end = order.length
  let turn = -1
  return {
    youngestFirst,
    next() {
      do turn += 1
      while (turn < turns.length && placeOf.get(turns[turn]!)! >= end)
      return turns[turn]
    },
    placed() {},
    ranOut() {
      end = Math.min(end, Math.max(covered, placeOf.get(turns[turn]!)! + 1))
    },
  }
}

/** The usage of each owner, and the total capacity. */
interface Shares {
  usedByOwner: ReadonlyMap<string, Quantities>
  totals: Quantities
}

interface Owner<Session> {
  used: Map<string, Quantity>
  share: Share
  waiting: Session[]
  ranOut: boolean
}

/**
 * Creates a sequence by dominant resource fairness with progressive filling: in each priority band the next turn goes
 * to the owner with the smallest dominant share at that moment; an owner's own sessions go oldest first.
 */
export function byDominantShare<Session extends Sequenced>(
  sessions: readonly Session[],
  { usedByOwner, totals }: Shares,
): Sequence<Session> {
  const used = new Map<string, Map<string, Quantity>>()
  const bands = [...Map.groupBy(sessions, ({ priority }) => priority)].toSorted(([a], [b]) => b - a)
  const turns = walk()
  let owner: Owner<Session> | undefined
  let given: Session | undefined
  let bandRanOut = false

  function usedBy(name: string): Map<string, Quantity> {
    const known = used.get(name) ?? new Map(usedByOwner.get(name))
    used.set(name, known)
    return known
  }

  function* walk(): Generator<Session, undefined> {
    for (const [, band] of bands) {
      const oldestFirst = band.toSorted(compareAge)
      const owners = Map.groupBy(oldestFirst, (session) => session.owner)
      const line = new Map([...owners.keys()].map((name) => [name, ownerNamed(name)]))
      for (const session of oldestFirst.filter(isOverdue)) {
        owner = line.get(session.owner)
        yield session
      }
      const heap = createHeap<Owner<Session>>(
        (a, b) => isLess(a.share, b.share) || (!isLess(b.share, a.share) && compareFirst(a, b) < 0),
      )
      for (const [name, theirs] of owners) {
        const one = line.get(name)!
        one.waiting = theirs.filter((session) => !isOverdue(session)).toReversed()
        heap.push(one)
      }
      for (let first = heap.pop(); first; first = heap.pop()) {
        if (first.ranOut) return undefined
        const session = first.waiting.pop()
        if (!session) continue
        owner = first
        yield session
        heap.push(first)
      }
      if (bandRanOut) return undefined
    }
    return undefined
  }

  function ownerNamed(name: string): Owner<Session> {
    const theirs = usedBy(name)
    return { used: theirs, share: dominantShare(theirs, totals), waiting: [], ranOut: false }
  }

  function compareFirst(a: Owner<Session>, b: Owner<Session>): number {
    // An owner whose sessions have run out goes first, which ends the sequence: it may have older sessions that were
    // not read.
    if (a.ranOut || b.ranOut) return a.ranOut ? -1 : 1
    const [first, second] = [a.waiting.at(-1), b.waiting.at(-1)]
    if (!first || !second) return first ? -1 : 1
    return compareAge(first, second)
  }

  return {
    youngestFirst: false,
    next() {
      given = turns.next().value
      return given
    },
    placed() {
      addQuantities(owner!.used, totalOf(given!.request))
      owner!.share = dominantShare(owner!.used, totals)
    },
    ranOut() {
      owner!.ranOut = true
      bandRanOut = true
    },
  }
}

/** An exact fraction; `total` is positive. */
interface Share {
  used: Quantity
  total: Quantity
}

const NO_SHARE: Share = { used: 0n, total: 1n }

/**
 * Computes the largest share, over all slots, of what is used out of the total. A slot without capacity does not count.
 */
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

/** A binary heap: the first item by `before` is popped first. */
interface Heap<T> {
  push(item: T): void
  pop(): T | undefined
}

export function createHeap<T>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = []

  function swap(a: number, b: number): void {
    ;[items[a], items[b]] = [items[b]!, items[a]!]
  }

  return {
    push(item) {
      items.push(item)
      for (let at = items.length - 1; at > 0;) {
        const parent = (at - 1) >> 1
        if (!before(items[at]!, items[parent]!)) break
        swap(at, parent)
        at = parent
      }
    },
    pop() {
      if (items.length < 2) return items.pop()
      const top = items[0]
      items[0] = items.pop()!
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2]
        let least = at
        if (left < items.length && before(items[left]!, items[least]!)) least = left
        if (right < items.length && before(items[right]!, items[least]!)) least = right
        if (least === at) return top
        swap(at, least)
        at = least
      }
    },
  }
}
