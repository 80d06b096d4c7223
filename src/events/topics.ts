import { Listeners } from './listeners.ts'

/** Hints between parts of one process that something may have changed in the database. */
export interface Topics {
  signal(topic: Topic): void
  /** @returns what removes the listener */
  on(topic: Topic, listener: () => void): () => void
}

export type Topic = `logs:${string}`

export function createTopics(): Topics {
  const listeners = new Listeners<Topic>()
  return {
    signal: (topic) => listeners.call(topic),
    on: (topic, listener) => listeners.add(topic, listener),
  }
}
