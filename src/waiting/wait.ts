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
