import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { readForAll, readForNobody } from './reader.ts'

/**
 * Snapshots: statements of one operation that see one state of the database. The call context decides which statements
 * belong to an operation. While `work` of `readSnapshot` runs, every statement of `Database.query` and of Prisma that
 * it causes goes to one connection, one after the other, in a transaction that shows what was committed when its first
 * statement began. Transactions of `Database.transaction` are separate. Work that continues after `work` has ended
 * reads without a snapshot.
 */
export interface Reads<T> {
  result: T
  /** Number of statements that were executed. */
  statements: number
}

interface Reading {
  open: boolean
  statements: number
  /** Null if only a single statement is allowed, on any connection. */
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

/** Runs `work` in a snapshot, or in several in succession if it calls `renewSnapshot`. */
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
 * Makes later reads of the calling work see everything committed before this call. It may be called only when all
 * earlier reads have completed.
 */
export function renewSnapshot(): void {
  active.getStore()?.renew?.()
}

/**
 * Runs work that belongs to no request, even if a request calls it: its statements belong to no snapshot, are not
 * queued, and are not cancelled when a client leaves. It is for work that several clients wait for, and for timers,
 * which keep the call context in which they were set.
 */
export function readForServer<T>(work: () => T): T {
  return readForNobody(() => active.run(undefined, work))
}

/** Runs a part of the work outside the snapshot, so that it sees its own writes. */
export function readApart<T>(part: () => T): T {
  return active.run(undefined, part)
}

/** Creates a snapshot; the connection is taken with the first statement. */
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
      // The end of the snapshot is not awaited, because all its reads have completed.
      if (held)
        Promise.all([held, last])
          .then(([snapshot]) => snapshot.end())
          .catch(() => {})
    },
  }
}

/**
 * Runs `work`, which should need only one statement, without the cost of a snapshot: one statement sees one state. A
 * second statement fails; then `several` is true and the result is invalid.
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

/**
 * Runs a statement of the calling operation: `use` on the snapshot's connection, or `alone` on any connection if there
 * is no snapshot.
 */
export function readStatement<R>(alone: () => Promise<R>, use: Use<R>): Promise<R> {
  const reading = active.getStore()
  if (!reading?.open) return alone()
  reading.statements += 1
  if (reading.run) return reading.run(use)
  return reading.statements > 1 ? Promise.reject(new SecondStatement()) : alone()
}

/**
 * Runs a read that several operations share. `work` belongs to none of them, but counts as a statement of each; an
 * operation with a snapshot runs `own` instead.
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
