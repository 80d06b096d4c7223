import { counted } from '../../domain/amounts.ts'
import {
  QUEUE_HOLDING_MAX,
  QUEUE_SHOWN_MAX,
  USUAL_NAMES_MAX,
  USUAL_SUCCESSES_MAX,
  USUAL_SUCCESSES_MIN,
} from '../../domain/limits.ts'
import { avoidedInOrder } from '../../domain/scheduling/agent-pool.ts'
import { expectedStarts, type HoldingSession, queueOrder } from '../../domain/scheduling/expected-starts.ts'
import { isParticular } from '../../domain/scheduling/gpu-supply.ts'
import { parseQuantities, resourceRequest } from '../../domain/scheduling/resource-request.ts'
import { expectedRest, type UsualDuration, usualDuration } from '../../domain/scheduling/usual-duration.ts'
import { readAgentCapacity } from '../../store/sql/scheduling/agent-capacity.sql.ts'
import { readQuotaUse, readUseByOwner } from '../../store/sql/scheduling/quota-use.sql.ts'
import {
  type HoldingRow,
  type QueueRow,
  readHolding,
  readLines,
  readSuccessDurations,
  type WorkName,
} from '../../store/sql/scheduling/read-queue.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { WorkName }

type Reader = Pick<ServiceContext, 'db'>

/** The place of a session in the queue of its resource group. */
export interface QueuePlace {
  /** How many sessions have their turn before it; null if that is not known. */
  before: number | null
  expectedStartAt: Date | null
  /** Why there is no expected start; null if there is one. */
  whyUnknown: string | null
}

/** The first sessions in line of one resource group. */
export interface Queue {
  /** In the order of their turns. */
  order: { id: string; projectId: string }[]
  /** Whether the line has more sessions than these. */
  isLonger: boolean
  places: ReadonlyMap<string, QueuePlace>
}

const NOT_IN_LINE: QueuePlace = {
  before: null,
  expectedStartAt: null,
  whyUnknown: 'it is not in line: something else than its turn must come first',
}

/** The place of a pending session; `nextTryAt` is null while it is in line. */
export function placeOf(queue: Queue, { id, nextTryAt }: { id: string; nextTryAt: Date | null }): QueuePlace {
  const place = queue.places.get(id)
  if (place) return place
  if (nextTryAt !== null || !queue.isLonger) return NOT_IN_LINE
  return { before: null, expectedStartAt: null, whyUnknown: `more than ${QUEUE_SHOWN_MAX} sessions are before it` }
}

/**
 * Reads the queues of these resource groups: who is next, and when each session will start if none is added, by how long
 * the last successes of each name took. The number of statements does not depend on how long the queues are.
 */
export async function readQueues({ db }: Reader, groups: readonly string[]): Promise<Map<string, Queue>> {
  const lines = Map.groupBy(await readLines(db, groups, QUEUE_SHOWN_MAX + 1), ({ group }) => group)
  const waiting = [...lines.keys()]
  if (waiting.length === 0) return new Map()
  const [held, agents] = await Promise.all([
    readHolding(db, waiting, QUEUE_HOLDING_MAX + 1),
    readAgentCapacity(db, waiting),
  ])
  const holding = Map.groupBy(held, ({ group }) => group)
  const rows = [...lines.values()].flat()
  const [secondsOf, quotasOf] = [
    await readUsualSeconds(db, [...rows, ...held]),
    await readQuotaUse(db, [...rows, ...held]),
  ]
  const queues = new Map<string, Queue>()
  for (const [group, line] of lines) {
    const { sequencer } = line[0]!
    const facts = {
      ...line[0]!,
      group,
      waiting: line.slice(0, QUEUE_SHOWN_MAX).map((row) => toWaiting(row, secondsOf(row), quotasOf(row))),
      holding: toHolding(holding.get(group) ?? [], secondsOf, quotasOf),
      agents: agents.get(group) ?? [],
      usedByOwner: sequencer === 'DRF' ? await readUseByOwner(db, group) : new Map(),
    }
    const isTooMuch = (holding.get(group)?.length ?? 0) > QUEUE_HOLDING_MAX
    queues.set(group, queueOf(line, facts, isTooMuch))
  }
  return queues
}

type Facts = Parameters<typeof expectedStarts>[0]

function queueOf(line: readonly QueueRow[], facts: Facts, isTooMuch: boolean): Queue {
  const { now, drained } = line[0]!
  const isLonger = line.length > QUEUE_SHOWN_MAX
  const rows = new Map(line.map((row) => [row.id, row]))
  const turns = queueOrder(facts)
  const { starts, isPart } =
    isTooMuch || drained !== null ? { starts: new Map<string, number>(), isPart: false } : expectedStarts(facts)
  // With DRF, whose turn it is depends on what has ended by then.
  const startOf = (id: string) => starts.get(id) ?? Number.POSITIVE_INFINITY
  const ids =
    facts.sequencer === 'DRF'
      ? turns.toSorted((a, b) => (startOf(a) > startOf(b) ? 1 : startOf(a) < startOf(b) ? -1 : 0))
      : turns
  const usualOf = new Map(facts.waiting.map(({ id, usualSeconds }) => [id, usualSeconds]))
  const endless = facts.holding.filter(({ endsInSeconds }) => endsInSeconds === null).length
  const why = (before: number) => {
    if (drained !== null) return drained
    if (isTooMuch) return `more than ${QUEUE_HOLDING_MAX} processes run in its resource group`
    if (isPart) return 'too many sessions start before it'
    const unknown = endless + ids.slice(0, before).filter((id) => usualOf.get(id) === null).length
    if (unknown === 0) return 'no agent or quota takes it as things are'
    const those = `${counted(unknown, 'session')} before it or running ${unknown === 1 ? 'has' : 'have'} no usual duration`
    return `${those}: fewer than ${USUAL_SUCCESSES_MIN} successes of the name, or it has run longer than all of them`
  }
  const places = ids.map((id, before): [string, QueuePlace] => {
    const seconds = starts.get(id)
    const expectedStartAt = seconds === undefined ? null : new Date(now.getTime() + seconds * 1000)
    return [id, { before, expectedStartAt, whyUnknown: expectedStartAt === null ? why(before) : null }]
  })
  return { order: ids.map((id) => ({ id, projectId: rows.get(id)!.projectId })), isLonger, places: new Map(places) }
}

function toWaiting(row: QueueRow, seconds: readonly number[], quotas: HoldingSession['quotas']) {
  const { id, priority, createdAt, skips, userId, projectId, clusterSize, resourceSlots, avoidAgents } = row
  const request = resourceRequest({ ...row, kernels: clusterSize, slots: parseQuantities(resourceSlots) })
  return {
    id,
    priority,
    createdAt,
    skips,
    owner: userId ?? projectId,
    schedulingClass: `${projectId} ${userId} ${priority} ${request.key}`,
    claimedClass: '',
    kernelIds: Array.from({ length: clusterSize }, (_, index) => String(index)),
    quotas: [...quotas],
    avoidAgents: avoidedInOrder(avoidAgents),
    // Which GPUs become free is not known, so a session that asks for particular ones has no estimate.
    request: isParticular(request) ? { ...request, allowAgents: new Set(['']) } : request,
    usualSeconds: usualDuration(seconds)?.median ?? null,
  }
}

function toHolding(
  rows: readonly HoldingRow[],
  secondsOf: (name: WorkName) => readonly number[],
  quotasOf: (row: HoldingRow) => HoldingSession['quotas'],
): HoldingSession[] {
  return [...Map.groupBy(rows, ({ sessionId }) => sessionId).values()].map((kernels) => {
    const row = kernels[0]!
    return {
      owner: row.userId ?? row.projectId,
      quotas: quotasOf(row),
      kernels: kernels.map(({ agentId, slots }) => ({ agentId, slots: parseQuantities(slots) })),
      endsInSeconds: endsIn(row, secondsOf(row)),
    }
  })
}

/** A session other than a batch session ends when somebody ends it. */
function endsIn(row: HoldingRow, seconds: readonly number[]): number | null {
  const { status, sessionType, ranSeconds, timesOutInSeconds } = row
  if (status === 'TERMINATING') return 0
  const rest = sessionType === 'BATCH' ? expectedRest(seconds, ranSeconds) : null
  if (rest === null || timesOutInSeconds === null) return rest ?? timesOutInSeconds
  return Math.min(rest, timesOutInSeconds)
}

/** Reads the durations of the last successes of these names; the returned function has none for other names. */
async function readUsualSeconds(
  db: Reader['db'],
  names: readonly WorkName[],
): Promise<(name: WorkName) => readonly number[]> {
  const distinct = new Map(names.map(({ projectId, name }) => [keyOf({ projectId, name }), { projectId, name }]))
  const wanted = [...distinct.values()].slice(0, USUAL_NAMES_MAX)
  const rows = await readSuccessDurations(db, wanted, USUAL_SUCCESSES_MAX)
  const found = new Map(rows.map((row) => [keyOf(row), row.seconds]))
  return (name) => found.get(keyOf(name)) ?? []
}

function keyOf({ projectId, name }: WorkName): string {
  return `${projectId} ${name}`
}

/** How long attempts of a name usually take. */
export interface ShownDuration {
  /** The number of successes that were read, at most USUAL_SUCCESSES_MAX. */
  successes: number
  usual: UsualDuration | null
}

/** Reads, for each name, how long its attempts usually take. The caller has checked that the viewer sees the projects. */
export async function readUsualDurations({ db }: Reader, names: readonly WorkName[]): Promise<ShownDuration[]> {
  const rows = await readSuccessDurations(db, names, USUAL_SUCCESSES_MAX)
  const found = new Map(rows.map((row) => [keyOf(row), row.seconds]))
  return names.map((name) => {
    const seconds = found.get(keyOf(name)) ?? []
    return { successes: seconds.length, usual: usualDuration(seconds) }
  })
}
