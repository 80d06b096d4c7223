import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { readForAll, readForNobody } from './reader.ts'

/**
 * Statements of one operation that see one state of the database. Which statements belong to it follows from where
 * they are called from: as long as `work` of `readSnapshot` runs, every statement of `Database.query` and of Prisma that
 * it causes goes to one connection, one after the other, in a transaction that shows what was committed when its first
 * statement began. Transactions of `Database.transaction` are their own. What goes on after `work` has ended reads as
 * anybody does.
 */
export interface Reads<T> {
  result: T
  /** How many statements it took. */
  statements: number
}

interface Reading {
  open: boolean
  statements: number
  /** Null if it allows a single statement, on any connection. */
  run: Snapshot['run'] | null
  /** Ends the snapshot; the next statement begins another one. */
  renew?: () => void
}

interface Snapshot {
  run<R>(use: Use<R>): Promise<R>
  end(): void
}

export type Use<R> = (client: pg.PoolClient) => Promise<R>

/** A connection in a transaction that shows one state. */
export interface Held {
  run: <R>(use: Use<R>) => Promise<R>
  end(): Promise<void>
}

interface Snapshots {
  begin(): Promise<Held>
}

const active = new AsyncLocalStorage<Reading | undefined>()

/** Runs `work` in a snapshot, or in one after the other, see `renewSnapshot`. */
export async function readSnapshot<T>(pool: Snapshots, work: () => T | Promise<T>): Promise<Reads<T>> {
  let snapshot = createSnapshot(pool)
  const reading: Reading = {
    open: true,
    statements: 0,
    run: (use) => snapshot.run(use),
    renew() {
      snapshot.end()
      snapshot = createSnapshot(pool)
    },
  }
  try {
    const result = await active.run(reading, work)
    return { result, statements: reading.statements }
  } finally {
    reading.open = false
    snapshot.end()
  }
}

/**
 * What the work that it is called from reads from now on is of a state that has everything committed before. To be
 * called when all that was read before has arrived.
 */
export function renewSnapshot(): void {
  active.getStore()?.renew?.()
}

/**
 * Runs what belongs to no request, wherever it is called from: its statements are of no snapshot, take nobody's turn, and
 * do not end when whoever caused them leaves. For what others wait for as well, and for timers, which keep the context
 * that they were set in.
 */
export function readForServer<T>(work: () => T): T {
  return readForNobody(() => active.run(undefined, work))
}

/** Runs a part of the work that belongs to no snapshot: it reads as anybody does, and sees what it has written. */
export function readApart<T>(part: () => T): T {
  return active.run(undefined, part)
}

/** A connection is taken with the first statement. */
function createSnapshot(pool: Snapshots): Snapshot {
  let held: Promise<Held> | undefined
  let last: Promise<unknown> = Promise.resolve()
  return {
    async run(use) {
      held ??= pool.begin()
      const turn = Promise.all([held, last]).then(([snapshot]) => snapshot.run(use))
      last = turn.catch(() => {})
      return turn
    },
    end() {
      // Nobody waits for this: what was read is read.
      if (held)
        Promise.all([held, last])
          .then(([snapshot]) => snapshot.end())
          .catch(() => {})
    },
  }
}

/**
 * Runs `work`, which should need one statement, without the cost of a snapshot: one statement sees one state. If it
 * needs a second one, that fails, `several` is true and the result is worth nothing.
 */
export async function readOnce<T>(work: () => T | Promise<T>): Promise<{ result: T; several: boolean }> {
  const reading: Reading = { open: true, statements: 0, run: null }
  try {
    const result = await active.run(reading, work)
    return { result, several: reading.statements > 1 }
  } catch (error) {
    if (reading.statements > 1) return { result: undefined as T, several: true }
    throw error
  } finally {
    reading.open = false
  }
}

/** Runs a statement of the operation that it is called from: `alone` on any connection, if it reads no snapshot. */
export function readStatement<R>(alone: () => Promise<R>, use: Use<R>): Promise<R> {
  const reading = active.getStore()
  if (!reading?.open) return alone()
  reading.statements += 1
  if (reading.run) return reading.run(use)
  return reading.statements > 1 ? Promise.reject(new SecondStatement()) : alone()
}

/**
 * Runs a read that operations share: `work` belongs to none of them, but counts as a statement of each; an operation
 * that reads a snapshot reads `own`.
 */
export function readShared<R>(work: () => Promise<R>, own: () => Promise<R>): Promise<R> {
  const reading = active.getStore()
  const shared = () => readForAll(work)
  if (!reading?.open) return shared()
  if (reading.run) return own()
  reading.statements += 1
  return reading.statements > 1 ? Promise.reject(new SecondStatement()) : active.run(undefined, shared)
}

class SecondStatement extends Error {
  constructor() {
    super('a second statement needs a snapshot')
    this.name = 'SecondStatement'
  }
}
