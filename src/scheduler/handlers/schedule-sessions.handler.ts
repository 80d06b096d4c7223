import { LIFECYCLE_HANDLERS } from '../../domain/session/handlers.ts'
import { place, type AgentSelector, type PlaceableSession } from '../../domain/scheduling/place.ts'
import { parseQuantities } from '../../domain/scheduling/quantity.ts'
import type { Queryable } from '../../store/database.ts'
import { assignKernels, lockGroup, noteOvertaken, readAgentRoom } from '../../store/sql/assign-kernels.sql.ts'
import { claimPending, type PendingPosition, type PendingSession } from '../../store/sql/claim-pending.sql.ts'
import type { HandlerResult, LifecycleHandler } from '../lifecycle.ts'

const DEPENDENCY_PAUSE_MS = 1_000

type Candidate = PendingSession & { kernels: [] }

/** Where the next look at a group's line begins, and how far it reaches. */
export interface LineProgress {
  /** The line has been looked through to here without anything that fits; null begins at its head. */
  after: PendingPosition | null
  /** Sessions to take: about as many as were placed lately, since each costs a lock though most do not fit. */
  reach: number
  /** Of `performance.now()`: when as many as a batch may hold were last taken, so that all of those say why they wait. */
  fullLookAt: number
  /** There may be more that fits. */
  goOn: boolean
}

export function newLineProgress(): LineProgress {
  return { after: null, reach: REACH_MIN_SESSIONS, fullLookAt: Number.NEGATIVE_INFINITY, goOn: false }
}

const REACH_MIN_SESSIONS = 32
const FULL_LOOK_INTERVAL_MS = 1_000

/**
 * PENDING → SCHEDULED: gives the sessions of one resource group to its agents. Where a whole batch cannot be
 * placed though there is room, the next one looks further down the line.
 */
export function scheduleSessions(
  group: { name: string; selector: AgentSelector },
  progress: LineProgress,
): LifecycleHandler<Candidate> {
  return {
    declaration: LIFECYCLE_HANDLERS['schedule-sessions'],
    wakes: ['prepare-sessions'],
    agentsOf: () => [],
    async claim(tx, { limit }) {
      progress.goOn = false
      if (!(await lockGroup(tx, group.name))) return []
      const reach = nextReach(progress, limit)
      const sessions = await claimPending(tx, group.name, reach, progress.after)
      progress.reach = reach
      progress.after = sessions.length === reach ? sessions.at(-1)! : null
      return sessions.map((session) => ({ ...session, kernels: [] }))
    },
    async execute(tx, sessions) {
      const result: HandlerResult = { successes: [], failures: [], skipped: [] }
      const ready = sessions.filter((session) => mayStart(session, result))
      const othersMayFit = ready.length > 0 && (await placeReady(tx, group, ready, result))
      lookOn(progress, { taken: sessions.length, placed: result.successes.length, othersMayFit })
      return result
    },
  }
}

function nextReach(progress: LineProgress, limit: number): number {
  const now = performance.now()
  if (progress.after === null && now - progress.fullLookAt < FULL_LOOK_INTERVAL_MS)
    return Math.min(progress.reach, limit)
  progress.fullLookAt = now
  return limit
}

function lookOn(progress: LineProgress, look: { taken: number; placed: number; othersMayFit: boolean }): void {
  const reachedItsEnd = look.taken < progress.reach
  const allPlaced = look.placed === look.taken
  progress.goOn = !reachedItsEnd && (allPlaced || look.othersMayFit)
  if (!look.othersMayFit) progress.after = null
  progress.reach = Math.max(REACH_MIN_SESSIONS, look.placed * 2)
}

/** Sorts out what waits for its time or for other chains. */
function mayStart(session: PendingSession, result: HandlerResult): boolean {
  const { id } = session
  if (session.dependencyFailed !== null) {
    const message = `depends on session ${session.dependencyFailed}, whose chain has failed`
    result.failures.push({ id, error: { name: 'dependency-failed', message }, giveUpNow: true })
    return false
  }
  if (session.startsInMs !== null) {
    result.skipped.push({ id, reason: 'its start time has not come', pauseMs: session.startsInMs })
    return false
  }
  if (session.dependenciesOpen > 0) {
    const reason = `waits for ${session.dependenciesOpen} chain(s) that it depends on`
    result.skipped.push({ id, reason, pauseMs: DEPENDENCY_PAUSE_MS })
    return false
  }
  return true
}

async function placeReady(
  tx: Queryable,
  group: { name: string; selector: AgentSelector },
  sessions: readonly PendingSession[],
  result: HandlerResult,
): Promise<boolean> {
  const agents = await readAgentRoom(tx, group.name)
  const rooms = agents.map(({ id, free, capacity, kernels }) => ({
    id,
    kernels,
    free: parseQuantities(free),
    capacity: parseQuantities(capacity),
  }))
  const placement = place(sessions.map(toPlaceable), rooms, group.selector)
  await assignKernels(
    tx,
    placement.placed.flatMap(({ kernels }) => kernels),
  )
  await noteOvertaken(tx, placement.overtaken)
  result.successes.push(...placement.placed.map(({ sessionId }) => sessionId))
  result.skipped.push(...placement.skipped.map(({ sessionId: id, reason }) => ({ id, reason })))
  return placement.othersMayFit
}

function toPlaceable(session: PendingSession): PlaceableSession {
  return {
    id: session.id,
    clusterMode: session.clusterMode,
    kernelIds: session.kernelIds,
    slots: parseQuantities(session.resourceSlots),
    skips: session.skips,
    avoidAgents: new Set(session.avoidAgents),
    allowAgents: new Set(session.allowAgents),
  }
}
