/** The first `count` items; 0 means all. */
export async function take<Item>(
  source: AsyncIterable<Item>,
  limit: number,
): Promise<{ items: Item[]; more: boolean }> {
  const items: Item[] = []
  for await (const item of source) {
    if (limit > 0 && items.length === limit) return { items, more: true }
    items.push(item)
  }
  return { items, more: false }
}

export async function takeAll<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  return (await take(source, 0)).items
}
