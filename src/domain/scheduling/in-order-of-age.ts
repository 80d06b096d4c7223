import { compareAge, isOverdue, type Sequence, type Sequenced } from './sequence.ts'

/**
 * `covered`: this many sessions from the head of the line were given without gaps; beyond them, only the first of each
 * class were.
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
