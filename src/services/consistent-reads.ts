import { readTogether, type PrismaClient } from '../store/prisma.ts'
import { readOnce } from '../store/snapshot.ts'

export { readTogether } from '../store/prisma.ts'
export { hasReadTooMuch, readFor, type Reader } from '../store/reader.ts'
export { readApart, readForServer, readShared, renewSnapshot } from '../store/snapshot.ts'

/** Work whose reads must see one state of the database. */
export interface Joint<T> {
  /** Identifies the kind of work, by the same object each time: an operation of a document, or a subscription. */
  kind: object
  work: () => T | Promise<T>
  /** Clears loaded data before the work is repeated. */
  again: () => void
}

export type Consistently = <T>(joint: Joint<T>) => Promise<T>

/**
 * Runs work so that all its reads see one state of the database. Work of a kind that has always needed one statement
 * runs without a snapshot, which would cost two more round trips. If it needs a second statement this time, it is
 * repeated in a snapshot.
 */
export function consistentReads(prisma: PrismaClient): Consistently {
  const needsOne = new WeakMap<object, boolean>()
  return async ({ kind, work, again }) => {
    if (needsOne.get(kind)) {
      const { result, several } = await readOnce(work)
      if (!several) return result
      needsOne.set(kind, false)
      again()
    }
    const { result, statements } = await readTogether(prisma, work)
    if (!needsOne.has(kind)) needsOne.set(kind, statements <= 1)
    return result
  }
}
