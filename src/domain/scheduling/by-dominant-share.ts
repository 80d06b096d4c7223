import { dominantShare, isLess, type Share } from './dominant-share.ts'
import { createHeap } from './heap.ts'
import { addQuantities } from './quantity.ts'
import type { Quantities, Quantity } from './quantity.ts'
import { compareAge, isOverdue, type Sequence, type Sequenced } from './sequence.ts'
import { totalOf } from './resource-request.ts'

/** What each owner has in use, and the total capacity. */
export interface Shares {
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
 * Dominant resource fairness by progressive filling: in each priority band the next turn goes to the owner with the
 * smallest dominant share at that moment; an owner's own sessions go oldest first.
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
    // The age of the next session is unknown for an owner whose given sessions have run out.
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
