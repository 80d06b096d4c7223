import type { FollowTopic, Wake, WakeTopic } from '../domain/wake.ts'

/** Wake-ups that one server sends to the others. */
export interface WakeHints {
  topics: readonly (WakeTopic | FollowTopic)[]
  /** Null means all agents, if there are too many to list. */
  agentIds: readonly string[] | null
}

/**
 * Wakes the parts of one process that wait for work. A wake-up is only a hint: the work itself is in the database,
 * which every listener also polls.
 */
export interface WakeHub extends Wake {
  /** @returns a function that removes the listener */
  on(topic: WakeTopic | FollowTopic, listener: () => void): () => void
  onAgent(agentId: string, listener: () => void): () => void
  /**
   * Sets the listener for hints that other servers need: topics without a listener here, agents that are not connected
   * here, and topics that may have readers on any server. Other topics that have a listener here stay local.
   */
  onOutgoing(listener: (hints: WakeHints) => void): void
  /** Applies the hints of another server; they are not passed on. */
  receive(hints: WakeHints): void
  /** Called when other servers may have changed anything. */
  wakeAll(): void
}

export function createWakeHub(): WakeHub {
  const byTopic = new Listeners<WakeTopic | FollowTopic>()
  const byAgent = new Listeners<string>()
  let sendOut: (hints: WakeHints) => void = () => {}
  return {
    wake(...topics) {
      for (const topic of topics) byTopic.call(topic)
      const forOthers = topics.filter((topic) => mayHaveReaders(topic) || !byTopic.has(topic))
      if (forOthers.length > 0) sendOut({ topics: forOthers, agentIds: [] })
    },
    wakeAgents(agentIds) {
      const forOthers = agentIds.filter((agentId) => !byAgent.has(agentId))
      for (const agentId of agentIds) byAgent.call(agentId)
      if (forOthers.length > 0) sendOut({ topics: [], agentIds: forOthers })
    },
    onOutgoing(listener) {
      sendOut = listener
    },
    receive({ topics, agentIds }) {
      for (const topic of topics) byTopic.call(topic)
      if (agentIds === null) byAgent.callAll()
      else for (const agentId of agentIds) byAgent.call(agentId)
    },
    wakeAll() {
      byTopic.callAll()
      byAgent.callAll()
    },
    on: (topic, listener) => byTopic.add(topic, listener),
    onAgent: (agentId, listener) => byAgent.add(agentId, listener),
  }
}

/** Topics that several servers may listen to at once. */
function mayHaveReaders(topic: WakeTopic | FollowTopic): boolean {
  return topic === 'events' || topic === 'sync-discovery' || topic.startsWith('resubmission:')
}

/** Hints within one process that something may have changed in the database. */
export interface Topics {
  signal(topic: Topic): void
  /** @returns a function that removes the listener */
  on(topic: Topic, listener: () => void): () => void
}

type Topic = `logs:${string}`

export function createTopics(): Topics {
  const listeners = new Listeners<Topic>()
  return {
    signal: (topic) => listeners.call(topic),
    on: (topic, listener) => listeners.add(topic, listener),
  }
}

/** Callbacks by key; a key without callbacks takes no memory. */
class Listeners<Key> {
  readonly #byKey = new Map<Key, Set<() => void>>()

  /** @returns a function that removes the listener */
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
