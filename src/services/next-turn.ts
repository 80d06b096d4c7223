/** Work on a large request is done in pieces, between which other requests are served. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Items looked at before others have their turn: some milliseconds of work when it has not been compiled. */
const ITEMS_PER_TURN = 50

/** `map`, in turns. */
export async function mapInTurns<Item, Result>(items: readonly Item[], map: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    if (results.length > 0 && results.length % ITEMS_PER_TURN === 0) await nextTurn()
    results.push(map(item))
  }
  return results
}
