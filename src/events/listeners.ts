/** Callbacks by key; a key without callbacks takes no memory. */
export class Listeners<Key> {
  readonly #byKey = new Map<Key, Set<() => void>>()

  /** @returns what removes the listener */
  add(key: Key, listener: () => void): () => void {
    const set = this.#byKey.get(key) ?? new Set()
    this.#byKey.set(key, set.add(listener))
    return () => {
      if (set.delete(listener) && set.size === 0 && this.#byKey.get(key) === set) this.#byKey.delete(key)
    }
  }

  has(key: Key): boolean {
    return this.#byKey.has(key)
  }

  /** A listener may remove itself while it is called. */
  call(key: Key): void {
    for (const listener of this.#byKey.get(key) ?? []) listener()
  }

  callAll(): void {
    for (const key of this.#byKey.keys()) this.call(key)
  }
}
