import { type AgentCapacity, avoidedInOrder, createAgentPool } from '../../domain/scheduling/agent-pool.ts'
import { explainCheckpointShortage } from '../../domain/quota.ts'
import { placeByCheckpoint } from '../../domain/scheduling/checkpoint-placement.ts'
import { explainPending, type PendingReason, waitsInVain } from '../../domain/scheduling/explain-pending.ts'
import { parseQuantities, resourceRequest, totalOf } from '../../domain/scheduling/resource-request.ts'
import { firstQuotaShortage, type QuotaUse } from '../../domain/scheduling/quota-use.ts'
import { readKnownCapacity, readStoredCheckpoints } from '../../store/sql/scheduling/agent-capacity.sql.ts'
import { readHeldKeys } from '../../store/sql/scheduling/concurrency-keys.sql.ts'
import { readQuotaLimits, readQuotaUse } from '../../store/sql/scheduling/quota-use.sql.ts'
import {
  type PendingDemand,
  type PendingDemands,
  readAbsentAgents,
  readDemands,
  readDistinctDemands,
  readOverdue,
  readPending,
} from '../../store/sql/scheduling/read-pending.sql.ts'
import { PENDING_DEMANDS_MAX } from '../../domain/limits.ts'
import { readCheckpointShortages } from '../../store/sql/quota.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import type { Queryable } from '../../store/database.ts'
import { durationsOf, type SessionDurations } from '../../domain/session/statistics.ts'
import {
  countSchedulingHistory as count,
  type HistoryRow,
  readSchedulingHistory as read,
  type SerialWindow,
  readSessionTimes,
} from '../../store/sql/session/scheduling-history.sql.ts'

/**
 * Explains why these sessions are still waiting, by id; sessions that are not waiting are omitted. The reason is
 * derived from the present state, so it is also true for sessions far back in the queue that the scheduler has not
 * considered for a long time. The number of statements does not depend on the number of sessions.
 */
export async function explainPendingSessions(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, PendingReason>> {
  const pending = await readPending(db, sessionIds)
  if (pending.length === 0) return new Map()
  const groups = [...new Set(pending.map(({ group }) => group))]
  const [{ accepting: agents, others }, overdue, absent, keys, checkpoints, shortages] = await Promise.all([
    readKnownCapacity(db, groups),
    readOverdue(db, groups),
    readAbsentAgents(db, groups),
    readHeldKeys(
      db,
      pending.flatMap((session) =>
        session.concurrencyKey === null ? [] : [{ ...session, key: session.concurrencyKey }],
      ),
    ),
    readStoredCheckpoints(db, pending),
    readCheckpointShortages(db, pending),
  ])
  const quotasOf = await readQuotaUse(db, [...pending, ...overdue])
  for (const [group, theirs] of agents) {
    reserve(
      overdue.filter((session) => session.group === group && fitsQuotas(session, quotasOf(session))),
      theirs,
    )
  }
  return new Map(
    pending.map((session) => {
      const { id, group, total, open, failed, awaited } = session
      const stored = checkpoints.get(id)
      const where = stored && placeByCheckpoint(stored, session)
      const wanted = where?.kind === 'only' ? { ...session, allowAgents: [...where.agents] } : session
      const shortage = shortages.get(id)
      const facts = {
        ...session,
        checkpoint: where?.kind === 'wait' ? where.reason : null,
        checkpointQuota: shortage === undefined ? null : explainCheckpointShortage(shortage),
        dependencies: { total, open, failed, awaited },
        request: requestOfDemand(wanted),
        lastingRequest: requestOfDemand(session),
        agents: overdue.some((one) => one.id === id) ? unreserved(agents.get(group)) : (agents.get(group) ?? []),
        otherAgents: others.get(group) ?? [],
        absent: absent.get(group) ?? {},
        quotas: quotasOf(session),
        key: keys.get(id) ?? null,
      }
      return [id, explainPending(facts)]
    }),
  )
}

/** Finds those of these sessions that are pending and that no known agent, or no quota, could ever take. */
export async function findImpossible(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Set<string>> {
  if (sessionIds.length === 0) return new Set()
  return impossibleOf(db, await readDemands(db, sessionIds))
}

/**
 * Divides the demands of all pending sessions that the viewer sees into those that can be met and those that never can
 * be. Demands beyond PENDING_DEMANDS_MAX count as possible.
 */
export async function divideDemands({ db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>): Promise<PendingDemands> {
  const demands = await readDistinctDemands(db, viewer.projectId, PENDING_DEMANDS_MAX)
  const found = await impossibleOf(db, demands)
  const [impossible, possible] = [true, false].map((is) => demands.filter(({ id }) => found.has(id) === is))
  return { impossible: impossible!, possible: demands.length < PENDING_DEMANDS_MAX ? possible! : null }
}

async function impossibleOf(db: Queryable, demands: readonly PendingDemand[]): Promise<Set<string>> {
  if (demands.length === 0) return new Set()
  const groups = [...new Set(demands.map(({ group }) => group))]
  const [{ accepting, others }, quotasOf] = await Promise.all([
    readKnownCapacity(db, groups),
    readQuotaLimits(db, demands),
  ])
  const inVain = demands.filter((session) =>
    waitsInVain({
      group: session.group,
      lastingRequest: requestOfDemand(session),
      agents: accepting.get(session.group) ?? [],
      otherAgents: others.get(session.group) ?? [],
      quotas: quotasOf(session),
    }),
  )
  return new Set(inVain.map(({ id }) => id))
}

export type { HistoryRow, PendingReason, SessionDurations }

/** Reads one page for each entity, oldest first or, backward, newest first. The caller has checked that the viewer may see them. */
export function readSchedulingHistory(
  { db }: Pick<ServiceContext, 'db'>,
  { entityIds, ...window }: SerialWindow & { entityIds: readonly string[] },
): Promise<HistoryRow[]> {
  return read(db, entityIds, window)
}

export function countSchedulingHistory(
  { db }: Pick<ServiceContext, 'db'>,
  entityIds: readonly string[],
): Promise<Map<string, number>> {
  return count(db, entityIds)
}

/** Computes how long each of these sessions was in each phase. The caller has checked that the viewer may see them. */
export async function readDurations(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, SessionDurations>> {
  const rows = await readSessionTimes(db, sessionIds)
  return new Map(rows.map(({ sessionId, steps, now, ...times }) => [sessionId, durationsOf(times, steps, now)]))
}

function requestOfDemand(session: PendingDemand) {
  return resourceRequest({ ...session, kernels: session.clusterSize, slots: parseQuantities(session.resourceSlots) })
}

function fitsQuotas(session: PendingDemand, quotas: readonly QuotaUse[]): boolean {
  return firstQuotaShortage(quotas, totalOf(requestOfDemand(session))) === undefined
}

/** Reserves capacity as the scheduler does. */
function reserve(overdue: readonly PendingDemand[], agents: readonly AgentCapacity[]): void {
  const pool = createAgentPool(agents, 'DISPERSED', null)
  for (const session of overdue) pool.reserve(requestOfDemand(session), avoidedInOrder(session.avoidAgents))
}

/** A session may use the capacity that is reserved for itself. */
function unreserved(agents: readonly AgentCapacity[] = []): AgentCapacity[] {
  return agents.map((agent) => {
    const free = new Map([...agent.free].map(([slot, amount]) => [slot, amount + (agent.reserved.get(slot) ?? 0n)]))
    return { ...agent, free, reserved: new Map() }
  })
}
