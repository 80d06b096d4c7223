import { AsyncLocalStorage } from 'node:async_hooks'
import { ANSWER_BYTES_MAX } from '../domain/limits.ts'

/** For whom statements are sent to the database, as follows from where they are called from. */
export interface Reader {
  /** Who shares connections with nobody: a token. */
  party: string
  /** Aborts when nobody waits for the answer any more. */
  signal?: AbortSignal | undefined
  /** Statements that may write outside snapshots take as long as they take, whether somebody waits for them or not. */
  writes?: boolean
}

interface Reading extends Reader {
  /** What the database has sent for this answer so far. */
  answer: { bytes: number }
}

const current = new AsyncLocalStorage<Reading | undefined>()

/** Statements that `work` sends are this reader's: they take turns on its share of the connections, end with it, and are
 * one answer, whose size is bounded. */
export function readFor<T>(reader: Reader, work: () => T): T {
  return current.run({ ...reader, answer: { bytes: 0 } }, work)
}

/** Statements that `work` sends need no turn: they belong to what has one, or to the server itself. */
export function readForNobody<T>(work: () => T): T {
  return current.run(undefined, work)
}

/** Statements that `work` sends are read for others as well, who may still wait when this reader has left. */
export function readForAll<T>(work: () => T): T {
  const reader = current.getStore()
  return reader?.signal ? current.run({ party: reader.party, answer: reader.answer }, work) : work()
}

export function currentReader(): Reading | undefined {
  return current.getStore()
}

/** Whether the answer that is being read for has become larger than it may be. */
export function hasReadTooMuch(): boolean {
  return (currentReader()?.answer.bytes ?? 0) > ANSWER_BYTES_MAX
}
