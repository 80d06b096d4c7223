/** One for all: an exception of its own costs more than the rest of an end. */
const ENDED = new DOMException('The iteration has ended.', 'AbortError')

/**
 * Wraps an async generator so that it can be ended while it waits. The `return()` of a plain generator waits for the
 * pending `next()`, so a subscription without events would hold its resources until the next event.
 */
export function abortableGenerator<T>(
  start: (signal: AbortSignal) => AsyncGenerator<T, void, void>,
): AsyncIterableIterator<T> {
  const ended = new AbortController()
  const inner = start(ended.signal)
  return {
    next: () => inner.next(),
    return() {
      ended.abort(ENDED)
      return inner.return()
    },
    throw(error) {
      ended.abort(ENDED)
      return inner.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
