import type { EventRecord } from '../records.ts'
import { isTerminal } from './chains.ts'
import type { Evidence, EventRow } from './evidence.ts'
import type { Accuse } from './promises.ts'

/** The outbox beside the sessions, and what each subscriber received beside the outbox. */

const STATUS_TYPES = [
  'session.created',
  'session.status_changed',
  'session.terminated',
  'session.error',
  'session.cancelled',
]

export function eventPromises(evidence: Evidence, accuse: Accuse): void {
  expectHistory(evidence, accuse)
  for (const [index, received] of evidence.received.entries()) {
    expectAll(`subscriber ${index + 1}`, received, evidence.events, accuse)
  }
}

/** The events of each session tell its whole life: created once, each status from the one before, one end. */
function expectHistory({ sessions, events }: Evidence, accuse: Accuse): void {
  const known = new Set(sessions.map(({ id }) => id))
  const bySession = Map.groupBy(
    events.filter(({ type }) => STATUS_TYPES.includes(type)),
    ({ sessionId }) => sessionId,
  )
  for (const sessionId of bySession.keys()) {
    if (!known.has(sessionId)) accuse('events', sessionId, 'has events, and is not there')
  }
  const dispatched = new Map<string, number>()
  for (const { type, childId } of events) {
    if (type === 'session.retry_dispatched' && childId !== null)
      dispatched.set(childId, (dispatched.get(childId) ?? 0) + 1)
  }
  for (const { id, status, origin } of sessions) {
    const own = bySession.get(id) ?? []
    if (own[0]?.type !== 'session.created' || own.filter(({ type }) => type === 'session.created').length !== 1) {
      accuse('events', id, `was not created once, first of all: ${own.map(({ type }) => type).join(', ')}`)
    }
    expectSteps(id, own, accuse)
    const last = own.at(-1)?.to
    if (last !== undefined && last !== null && last !== status)
      accuse('events', id, `is ${status}, and its last event says ${last}`)
    const times = dispatched.get(id) ?? 0
    if (times !== (origin === 'AUTO_RETRY' ? 1 : 0)) accuse('events', id, `has ${times} events of its dispatch`)
  }
}

function expectSteps(id: string, own: readonly EventRow[], accuse: Accuse): void {
  let status: string | null = null
  for (const { type, from, to } of own) {
    if (to === null) continue
    if (status !== null && isTerminal(status)) accuse('terminal', id, `was ${status}, and became ${to} (${type})`)
    else if (status !== null && from !== null && from !== status) {
      accuse('events', id, `was ${status}, and an event says that it went from ${from} to ${to}`)
    }
    status = to
  }
}

function expectAll(who: string, received: readonly EventRecord[], outbox: readonly EventRow[], accuse: Accuse): void {
  const places = new Map(outbox.map((event, place) => [event.cursor, { ...event, place }]))
  const seen = new Set<string>()
  const newest = new Map<string, number>()
  for (const { cursor, type, sessionId } of received) {
    if (seen.has(cursor)) continue
    seen.add(cursor)
    const event = places.get(cursor)
    if (event === undefined || event.sessionId !== sessionId) {
      accuse('events', who, `received ${type} of ${sessionId}, which is not in the outbox`)
      continue
    }
    const before = newest.get(event.chainId) ?? -1
    if (event.place < before) accuse('events', who, `received ${type} of ${sessionId} after a later event of its chain`)
    newest.set(event.chainId, Math.max(before, event.place))
  }
  const missing = outbox.filter(({ cursor }) => !seen.has(cursor))
  for (const { type, sessionId } of missing.slice(0, 20))
    accuse('events', who, `never received ${type} of ${sessionId}`)
  if (missing.length > 20) accuse('events', who, `never received ${missing.length} events`)
}
