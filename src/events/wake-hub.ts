import type { FollowTopic, Wake, WakeTopic } from '../domain/wake.ts'
import { Listeners } from './listeners.ts'

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
  onOutgoing(listener: (hints: WakeHints) => void): void
  /** What another server told: goes no further. */
  receive(hints: WakeHints): void
  /** Another server may have changed something; nobody knows what. */
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

/** By as many as like, on any server. */
function mayHaveReaders(topic: WakeTopic | FollowTopic): boolean {
  return topic === 'events' || topic === 'sync-discovery' || topic.startsWith('resubmission:')
}
