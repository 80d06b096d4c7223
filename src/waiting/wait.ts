import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves after `ms`, or as soon as `signal` aborts. `ref: false` does not keep the process from ending. */
export async function wait(ms: number, options: { signal?: AbortSignal; ref?: boolean } = {}): Promise<void> {
  await sleep(ms, undefined, options).catch(() => {})
}

/** Resolves with the result of `work`, or with undefined if that takes longer than `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const inTime = new AbortController()
  try {
    return await Promise.race([work, wait(ms, { signal: inTime.signal }).then(() => undefined)])
  } finally {
    inTime.abort()
  }
}

/**
 * Wraps the work of a timer or an event listener, where an uncaught error would end the process. The error is passed to
 * `failed` instead, and the timer or listener continues.
 */
export function guarded<Arguments extends unknown[]>(
  work: (...given: Arguments) => unknown,
  failed: (error: unknown) => void,
): (...given: Arguments) => void {
  return (...given) => {
    try {
      const result = work(...given)
      if (result instanceof Promise) result.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 5_000

/** Doubles per failure. The upper half is random, so that agents do not reconnect all at once when a server returns. */
export function reconnectPauseMs(failures: number, random: number): number {
  const longest = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failures - 1, 16))
  return Math.round(longest * (0.5 + random / 2))
}
