/**
 * Syncs in flight, one per agent instance. A newer sync ends the wait of the previous one, whose connection may have
 * been dead for a long time.
 */
export interface Polls {
  run<T>(key: string, gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Ends all waits, including those of later syncs. */
  end(): void
  readonly ended: boolean
}

export function createPolls(): Polls {
  const ending = new AbortController()
  const latest = new Map<string, AbortController>()
  return {
    async run(key, gone, work) {
      const replaced = new AbortController()
      latest.get(key)?.abort()
      latest.set(key, replaced)
      try {
        return await work(AbortSignal.any([gone, replaced.signal, ending.signal]))
      } finally {
        if (latest.get(key) === replaced) latest.delete(key)
      }
    },
    end: () => ending.abort(),
    get ended() {
      return ending.signal.aborted
    },
  }
}
