/**
 * Syncs that are with the server, one per instance of an agent: a newer one ends the wait of the one before, whose
 * connection may have been dead for long.
 */
export interface Polls {
  run<T>(key: string, gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Ends all waits, those that come included. */
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
