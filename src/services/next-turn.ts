/** Yields to other requests; work on a large request is split by such pauses. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Items processed before other requests are served: some milliseconds of work in code that is not compiled yet. */
const ITEMS_PER_TURN = 50

/** Maps items, and yields to other requests in between. */
export async function mapInTurns<Item, Result>(items: readonly Item[], map: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    if (results.length > 0 && results.length % ITEMS_PER_TURN === 0) await nextTurn()
    results.push(map(item))
  }
  return results
}
