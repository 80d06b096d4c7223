export type Delivery<T> = { kind: 'item'; item: T } | { kind: 'completed' } | { kind: 'overflow' }

/**
 * A bounded queue between a connection, which does not wait, and one consumer, which may be slow. Once full, it accepts
 * nothing more: it delivers what it holds, reports the overflow, and the consumer resumes from its own cursor.
 */
export class Mailbox<T> {
  readonly #limit: number
  readonly #items: T[] = []
  #end: { kind: 'completed' } | { kind: 'overflow' } | { kind: 'failed'; error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  push(item: T): void {
    if (this.#end) return
    if (this.#items.length < this.#limit) this.#items.push(item)
    else this.#end = { kind: 'overflow' }
    this.#wake?.()
  }

  complete(): void {
    this.#end ??= { kind: 'completed' }
    this.#wake?.()
  }

  /** `take` throws it when all that came before it is delivered. */
  fail(error: unknown): void {
    this.#end ??= { kind: 'failed', error }
    this.#wake?.()
  }

  /** One at a time. @throws what `fail` was given; the signal's reason, at once */
  async take(signal: AbortSignal): Promise<Delivery<T>> {
    while (this.#items.length === 0 && !this.#end) {
      signal.throwIfAborted()
      await this.#news(signal)
    }
    signal.throwIfAborted()
    if (this.#items.length > 0) return { kind: 'item', item: this.#items.shift()! }
    if (this.#end!.kind === 'failed') throw this.#end!.error
    return this.#end as Delivery<T>
  }

  async #news(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = deferred()
    this.#wake = resolve
    signal.addEventListener('abort', resolve, { once: true })
    await promise
    signal.removeEventListener('abort', resolve)
    this.#wake = undefined
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}
