import { randomUUID } from 'node:crypto'
import { WAKE_AGENTS_PER_HINT_MAX, WAKE_TOPICS_PER_HINT_MAX } from '../domain/limits.ts'
import type { FollowTopic, WakeTopic } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'
import { listen } from '../store/listen.ts'
import { createNotifier } from './notifier.ts'
import type { WakeHints, WakeHub } from './wake-hub.ts'

/**
 * Wakes between the servers of one database, by NOTIFY: each tells the others what of its work they have to hear,
 * and wakes whom their hints concern. Hints are gathered while one is under way, so that a burst is two. One that is
 * lost costs an interval: whoever sleeps looks by himself.
 */
export interface WakeExchange {
  stop(): Promise<void>
}

export const WAKES_CHANNEL = 'reprise_events'
/** What cannot be read wakes everybody. */
const ANYTHING = ''

export function createWakeExchange(options: {
  db: Database
  hub: WakeHub
  connectionString: string
  log: Logger
}): WakeExchange {
  const { db, hub, connectionString, log } = options
  const serverId = randomUUID()
  const topics = new Set<WakeTopic | FollowTopic>()
  const agentIds = new Set<string>()

  function takePayload(): string {
    const agents = agentIds.size > WAKE_AGENTS_PER_HINT_MAX ? null : [...agentIds]
    const tooMany = topics.size > WAKE_TOPICS_PER_HINT_MAX
    const payload = tooMany ? ANYTHING : formatHints(serverId, { topics: [...topics], agentIds: agents })
    topics.clear()
    agentIds.clear()
    return payload
  }

  function onNotification(payload: string): void {
    const hints = parseHints(payload)
    if (hints === null) hub.wakeAll()
    else if (hints.from !== serverId) hub.receive(hints)
  }

  const notifier = createNotifier({ db, channel: WAKES_CHANNEL, takePayload, log })
  const listener = listen({ connectionString, channel: WAKES_CHANNEL, onNotification, log })
  hub.onOutgoing((hints) => {
    for (const topic of hints.topics) topics.add(topic)
    for (const agentId of hints.agentIds ?? []) agentIds.add(agentId)
    notifier.notify()
  })
  return {
    async stop() {
      hub.onOutgoing(() => {})
      await Promise.all([listener.stop(), notifier.stop()])
    },
  }
}

/** Within the 8,000 bytes that PostgreSQL takes, with as many topics and agents as a hint may name. */
export function formatHints(from: string, { topics, agentIds }: WakeHints): string {
  return JSON.stringify({ from, topics, agentIds })
}

/** Null where it cannot be read: nobody knows what has changed, as after a time without a connection. */
export function parseHints(payload: string): (WakeHints & { from: string }) | null {
  try {
    const { from, topics, agentIds } = JSON.parse(payload) as Partial<WakeHints & { from: string }>
    if (typeof from !== 'string' || !Array.isArray(topics)) return null
    if (agentIds !== null && !Array.isArray(agentIds)) return null
    return { from, topics, agentIds }
  } catch {
    return null
  }
}
