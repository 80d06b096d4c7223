import { randomUUID } from 'node:crypto'
import { WAKE_AGENTS_PER_HINT_MAX, WAKE_TOPICS_PER_HINT_MAX } from '../domain/limits.ts'
import type { FollowTopic, WakeTopic } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'
import { listen } from '../store/listen.ts'
import type { WakeHints, WakeHub } from './wake-hub.ts'

/**
 * PostgreSQL serializes the commits of transactions that notify, so the transactions that do the work do not notify, and
 * 40 notifications per second and server leave that lock idle. A server that has sent fewer may send so many at once:
 * hints about one session are not delayed. Under load, others learn of a change at most 25 ms later.
 */
const NOTIFY_INTERVAL_MS = 25
const NOTIFY_AT_ONCE_MAX = 20

/**
 * Carries wake-ups between the servers of one database, by NOTIFY. Hints are collected while a notification is in
 * flight, so that a burst becomes two notifications. A lost hint costs a polling interval at most.
 */
export interface WakeExchange {
  stop(): Promise<void>
}

export const WAKES_CHANNEL = 'reprise_events'
/** A payload that cannot be parsed wakes everything. */
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

/** With the maximum number of topics and agents, the result stays below PostgreSQL's limit of 8,000 bytes. */
export function formatHints(from: string, { topics, agentIds }: WakeHints): string {
  return JSON.stringify({ from, topics, agentIds })
}

/** @returns null if the payload is invalid or empty, as after a lost connection: anything may have changed */
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

interface Notifier {
  notify(): void
  /** Resolves when no statement is in flight. */
  stop(): Promise<void>
}

function createNotifier(options: {
  db: Database
  channel: string
  /** Returns and clears the collected hints; called when a notification is sent. */
  takePayload: () => string
  log: Logger
}): Notifier {
  const { db, channel, takePayload, log } = options
  let timer: NodeJS.Timeout | undefined
  let owed = false
  let stopped = false
  let sending: Promise<void> | undefined
  /** When all notifications will be allowed again that were sent. */
  let allowedAt = 0

  /** Sends what is owed, unless a notification is in flight or too many were sent: then as soon as neither holds. */
  function sendNext(): void {
    if (!owed || stopped || sending || timer) return
    const now = performance.now()
    const waitMs = Math.max(allowedAt, now) - now - (NOTIFY_AT_ONCE_MAX - 1) * NOTIFY_INTERVAL_MS
    if (waitMs > 0) {
      timer = setTimeout(() => {
        timer = undefined
        sendNext()
      }, waitMs)
      return
    }
    owed = false
    allowedAt = Math.max(allowedAt, now) + NOTIFY_INTERVAL_MS
    sending = db
      .query('SELECT pg_notify($1, $2)', [channel, takePayload()])
      .then(
        () => {},
        (error) => log.debug({ err: error, channel }, 'could not notify other servers; they will poll'),
      )
      .finally(() => {
        sending = undefined
        sendNext()
      })
  }

  return {
    notify() {
      owed = true
      sendNext()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await sending
    },
  }
}
