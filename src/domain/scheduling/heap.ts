/** A binary heap: the first item by `before` is popped first. */
export interface Heap<T> {
  push(item: T): void
  pop(): T | undefined
}

export function createHeap<T>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = []

  function swap(a: number, b: number): void {
    ;[items[a], items[b]] = [items[b]!, items[a]!]
  }

  return {
    push(item) {
      items.push(item)
      for (let at = items.length - 1; at > 0;) {
        const parent = (at - 1) >> 1
        if (!before(items[at]!, items[parent]!)) break
        swap(at, parent)
        at = parent
      }
    },
    pop() {
      if (items.length < 2) return items.pop()
      const top = items[0]
      items[0] = items.pop()!
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2]
        let least = at
        if (left < items.length && before(items[left]!, items[least]!)) least = left
        if (right < items.length && before(items[right]!, items[least]!)) least = right
        if (least === at) return top
        swap(at, least)
        at = least
      }
    },
  }
}
