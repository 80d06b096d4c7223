/**
 * Iterates over what `start` generates. It can be ended while a caller waits for the next item: `return` aborts the
 * signal given to `start`, and the waiting `next` is done. When `outer` aborts, `next` throws its reason.
 */
export function closeable<T>(
  outer: readonly (AbortSignal | undefined)[],
  start: (signal: AbortSignal) => AsyncGenerator<T, void, void>,
): AsyncIterableIterator<T> {
  const ended = new AbortController()
  const signals = outer.filter((signal) => signal !== undefined)
  const source = start(AbortSignal.any([ended.signal, ...signals]))
  const done: IteratorResult<T> = { done: true, value: undefined }
  return {
    async next() {
      try {
        return await source.next()
      } catch (error) {
        if (ended.signal.aborted && error === ended.signal.reason) return done
        throw error
      }
    },
    async return() {
      ended.abort()
      await source.return().catch(() => {})
      return done
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Maps each item by `pick`. The result ends when the source ends. */
export function picked<T, Part>(
  source: AsyncIterableIterator<T>,
  pick: (item: T) => Part,
): AsyncIterableIterator<Part> {
  return {
    async next() {
      const result = await source.next()
      return result.done ? { done: true, value: undefined } : { done: false, value: pick(result.value) }
    },
    async return() {
      await source.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** A promise that is settled from outside, like `Promise.withResolvers`, which Node 20 does not have. */
interface Deferred<T> {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (reason: unknown) => void
}

export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((resolveIt, rejectIt) => {
    resolve = resolveIt
    reject = rejectIt
  })
  return { promise, resolve, reject }
}
