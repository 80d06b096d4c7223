import type { FollowTopic, Wake, WakeTopic } from '../domain/wake.ts'

/** What one server tells the others. */
export interface WakeHints {
  topics: readonly (WakeTopic | FollowTopic)[]
  /** Null where there are too many to name: all. */
  agentIds: readonly string[] | null
}

/**
 * Who sleeps until there may be work, within one process. A wake is a hint: what it hints at is in the
 * database, and every sleeper looks there by itself now and then.
 */
export interface WakeHub extends Wake {
  /** Answers with how to stop. */
  on(topic: WakeTopic | FollowTopic, listener: () => void): () => void
  onAgent(agentId: string, listener: () => void): () => void
  /**
   * Told of what other servers have to hear: work that nobody here does, agents that are not waiting here, and what
   * any server may have readers of. Work that is awaited here is done here: the others are not woken for it.
   */
  onAbroad(listener: (hints: WakeHints) => void): void
  /** What another server told: goes no further. */
  receive(hints: WakeHints): void
  /** Another server may have changed something; nobody knows what. */
  wakeAll(): void
}

type Listeners = Map<string, Set<() => void>>

export function createWakeHub(): WakeHub {
  const byTopic: Listeners = new Map()
  const byAgent: Listeners = new Map()
  let tellAbroad: (hints: WakeHints) => void = () => {}
  return {
    wake(...topics) {
      for (const topic of topics) call(byTopic.get(topic))
      const abroad = topics.filter((topic) => isRead(topic) || !byTopic.has(topic))
      if (abroad.length > 0) tellAbroad({ topics: abroad, agentIds: [] })
    },
    wakeAgents(agentIds) {
      const abroad = agentIds.filter((agentId) => !byAgent.has(agentId))
      for (const agentId of agentIds) call(byAgent.get(agentId))
      if (abroad.length > 0) tellAbroad({ topics: [], agentIds: abroad })
    },
    onAbroad(listener) {
      tellAbroad = listener
    },
    receive({ topics, agentIds }) {
      for (const topic of topics) call(byTopic.get(topic))
      for (const agentId of agentIds ?? byAgent.keys()) call(byAgent.get(agentId))
    },
    wakeAll() {
      for (const listeners of [...byTopic.values(), ...byAgent.values()]) call(listeners)
    },
    on: (topic, listener) => add(byTopic, topic, listener),
    onAgent: (agentId, listener) => add(byAgent, agentId, listener),
  }
}

/** By as many as like, on any server. */
function isRead(topic: WakeTopic | FollowTopic): boolean {
  return topic === 'events' || topic === 'sync-discovery' || topic.startsWith('resubmission:')
}

function call(listeners: ReadonlySet<() => void> | undefined): void {
  // A set may be changed while it is walked: a listener that removes itself is no harm.
  for (const listener of listeners ?? []) listener()
}

function add(listeners: Listeners, key: string, listener: () => void): () => void {
  const set = listeners.get(key) ?? new Set()
  listeners.set(key, set.add(listener))
  return () => {
    if (set.delete(listener) && set.size === 0 && listeners.get(key) === set) listeners.delete(key)
  }
}
