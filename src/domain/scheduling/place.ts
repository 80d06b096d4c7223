import { HEAD_OF_LINE_SKIPS_MAX } from '../limits.ts'
import type { AgentPool } from './agent-pool.ts'
import { quotaShortage, takeQuota, type QuotaRoom } from './quota.ts'
import { compareAge, holdsLine, type Sequence, type Sequenced } from './sequence.ts'
import { totalOf } from './shape.ts'
import { whyNot } from './why-not.ts'

export interface PlaceableSession extends Sequenced {
  kernelIds: readonly string[]
  /** Sessions of one owner, shape and priority: where one does not fit, none behind it does. */
  lane: string
  /** Go last, and only where nothing else fits. */
  avoidAgents: ReadonlySet<string>
  /** Those that limit it. */
  quotas: readonly QuotaRoom[]
}

export interface Placement {
  placed: { sessionId: string; kernels: { kernelId: string; agentId: string }[] }[]
  /** Why, in words that stay the same as long as it waits for the same thing. */
  skipped: { sessionId: string; reason: string }[]
  /** How many younger sessions of no higher priority went before it, by session. */
  overtaken: Map<string, number>
  /** It ended at somebody's turn who was not among the sessions: there is more to place. */
  ranOut: boolean
}

export interface Line {
  sessions: readonly PlaceableSession[]
  sequence: Sequence<PlaceableSession>
  /** Lanes of which more may be waiting than are among the sessions. */
  longLanes: ReadonlySet<string>
  group: string
}

interface Waiting {
  session: PlaceableSession
  /** How many had been placed without passing it when it had its turn. */
  since: number
}

/**
 * Gives sessions to agents, in the order of the sequence. One that does not fit lets others pass, a bounded number
 * of times: then it holds the line. Room is kept for it on the agents that lack the least, and what comes behind
 * takes only what is left besides. Quotas stop those whom they limit and nobody else.
 */
export function place({ sessions, sequence, longLanes, group }: Line, pool: AgentPool): Placement {
  const placement: Placement = { placed: [], skipped: [], overtaken: new Map(), ranOut: false }
  const left = new Map<string, number>()
  for (const { lane } of sessions) left.set(lane, (left.get(lane) ?? 0) + 1)
  const stopped = new Map<string, string>()
  let waiting: Waiting[] = []
  const placed: PlaceableSession[] = []
  let lastHolder: string | undefined

  function skip(session: PlaceableSession, reason: string): void {
    placement.skipped.push({ sessionId: session.id, reason })
    stopped.set(session.lane, reason)
  }

  function hold(session: PlaceableSession): void {
    if (!pool.keepFor(session.shape, session.avoidAgents)) return
    for (const quota of session.quotas) takeQuota(quota, totalOf(session.shape))
    lastHolder = session.id
  }

  /** Those that have now been passed too often. */
  function letHold(): void {
    const due = waiting.filter((one) => one.session.skips + passesOf(one) >= HEAD_OF_LINE_SKIPS_MAX)
    if (due.length === 0) return
    waiting = waiting.filter((one) => !due.includes(one))
    for (const one of due) {
      note(one)
      hold(one.session)
    }
  }

  function passesOf({ since }: Waiting): number {
    return placed.length - since
  }

  /** Where the youngest go first, those that did so before its turn have passed it as well: else it would never start. */
  function passedAlready(session: PlaceableSession): number {
    if (!sequence.youngestFirst) return 0
    return placed.filter((other) => other.priority === session.priority && compareAge(session, other) < 0).length
  }

  function note(one: Waiting): void {
    const passes = passesOf(one)
    if (passes > 0) placement.overtaken.set(one.session.id, passes)
  }

  for (let session = sequence.next(); session; session = sequence.next()) {
    const before = stopped.get(session.lane)
    if (before !== undefined) {
      placement.skipped.push({ sessionId: session.id, reason: before })
      continue
    }
    const total = totalOf(session.shape)
    const overQuota = session.quotas.map((quota) => quotaShortage(quota, total)).find(Boolean)
    if (overQuota) {
      skip(session, overQuota.short)
      continue
    }
    const agents = pool.place(session.shape, session.avoidAgents)
    if (agents) {
      for (const quota of session.quotas) takeQuota(quota, total)
      sequence.placed()
      placed.push(session)
      const kernels = session.kernelIds.map((kernelId, n) => ({ kernelId, agentId: agents[n]! }))
      placement.placed.push({ sessionId: session.id, kernels })
      const more = left.get(session.lane)! - 1
      left.set(session.lane, more)
      if (more === 0 && longLanes.has(session.lane)) {
        sequence.ranOut()
        placement.ranOut = true
      }
      letHold()
      continue
    }
    const shortage = whyNot(session.shape, pool.rooms, group)
    skip(session, shortage?.short ?? `the room that it needs is kept for session ${lastHolder}`)
    if (shortage?.forGood) continue
    if (holdsLine(session)) hold(session)
    else waiting.push({ session, since: placed.length - passedAlready(session) })
  }
  waiting.forEach(note)
  return placement
}
