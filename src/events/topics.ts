/** Hints between parts of one process: "look again". What they hint at is always in the database. */
export interface Topics {
  signal(topic: Topic): void
  /** Answers with how to stop. */
  on(topic: Topic, listener: () => void): () => void
}

export type Topic = `logs:${string}`

export function createTopics(): Topics {
  const listeners = new Map<Topic, Set<() => void>>()
  return {
    signal(topic) {
      for (const listener of listeners.get(topic) ?? []) listener()
    },
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set()
      listeners.set(topic, set.add(listener))
      return () => {
        if (set.delete(listener) && set.size === 0 && listeners.get(topic) === set) listeners.delete(topic)
      }
    },
  }
}
