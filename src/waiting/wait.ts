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

/** The actions of each signal. Adding a listener to a signal takes as long as it has listeners. */
const actions = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Acts when the signal aborts, or at once if it has. For signals that live long and have many to tell.
 * @returns a function that takes it back
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act()
    return () => {}
  }
  const known = actions.get(signal) ?? listenOnce(signal)
  const own = () => act()
  known.add(own)
  return () => void known.delete(own)
}

function listenOnce(signal: AbortSignal): Set<() => void> {
  const added = new Set<() => void>()
  actions.set(signal, added)
  signal.addEventListener('abort', () => added.forEach((act) => act()), { once: true })
  return added
}
