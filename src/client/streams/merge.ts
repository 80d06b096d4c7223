/**
 * Items of all sources as they arrive, until all have ended. Closes all of them when it is closed or when one fails.
 */
export async function* merge<T>(sources: readonly AsyncIterableIterator<T>[]): AsyncGenerator<T, void, void> {
  const waiting = new Map(sources.map((source) => [source, ask(source)]))
  try {
    while (waiting.size > 0) {
      const { source, result } = await Promise.race(waiting.values())
      if (result.done) {
        waiting.delete(source)
        continue
      }
      waiting.set(source, ask(source))
      yield result.value
    }
  } finally {
    await Promise.allSettled([...waiting.values(), ...[...waiting.keys()].map((source) => source.return?.())])
  }
}

async function ask<T>(source: AsyncIterableIterator<T>) {
  return { source, result: await source.next() }
}
