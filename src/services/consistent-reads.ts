import { readTogether, type PrismaClient } from '../store/prisma.ts'
import { readOnce } from '../store/snapshot.ts'

export { readTogether } from '../store/prisma.ts'
export { hasReadTooMuch, readFor, type Reader } from '../store/reader.ts'
export { readApart, readForServer, readShared, renewSnapshot } from '../store/snapshot.ts'

/** What is read together. */
export interface Joint<T> {
  /** The same object for the same kind of work: an operation of a document, or a subscription. */
  kind: object
  work: () => T | Promise<T>
  /** Forgets what was loaded, before the work is done once more. */
  again: () => void
}

export type Consistently = <T>(joint: Joint<T>) => Promise<T>

/**
 * Reads whatever the work reads in one state of the database. Work of a kind that has always needed one statement is
 * done without a snapshot, which would cost it two more round trips; should it need a second one this time, it is done
 * once more, in a snapshot.
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
