import { AsyncLocalStorage } from 'node:async_hooks'
import { ANSWER_BYTES_MAX } from '../domain/limits.ts'

/** The client for whom statements are sent to the database; it follows the asynchronous call context. */
export interface Reader {
  /** The token; each party has its own share of the connections. */
  party: string
  /** Aborts when the answer is no longer needed. */
  signal?: AbortSignal | undefined
  /**
   * Set if statements outside snapshots may write: they then run to their end, even if the answer is no longer needed.
   */
  writes?: boolean
}

interface Reading extends Reader {
  /** The bytes that the database has sent for this answer so far. */
  answer: { bytes: number }
}

const current = new AsyncLocalStorage<Reading | undefined>()

/**
 * Runs `work` for this reader: its statements use the reader's share of the connections, are cancelled when the reader
 * leaves, and count towards one answer of bounded size.
 */
export function readFor<T>(reader: Reader, work: () => T): T {
  return current.run({ ...reader, answer: { bytes: 0 } }, work)
}

/**
 * Runs `work` without a reader: its statements are not queued, because they belong to work that already has a
 * connection, or to the server itself.
 */
export function readForNobody<T>(work: () => T): T {
  return current.run(undefined, work)
}

/**
 * Runs `work` for several readers: its statements are not cancelled when the present reader leaves, because others may
 * still wait for them.
 */
export function readForAll<T>(work: () => T): T {
  const reader = current.getStore()
  return reader?.signal ? current.run({ party: reader.party, answer: reader.answer }, work) : work()
}

export function currentReader(): Reading | undefined {
  return current.getStore()
}

/** Whether the present answer has exceeded its size limit. */
export function hasReadTooMuch(): boolean {
  return (currentReader()?.answer.bytes ?? 0) > ANSWER_BYTES_MAX
}
