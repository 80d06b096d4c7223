import { avoidedInOrder, createAgentPool } from '../../../src/domain/scheduling/agent-pool.ts'
import { inOrderOfAge } from '../../../src/domain/scheduling/in-order-of-age.ts'
import { place, type PlaceableSession, type Placement } from '../../../src/domain/scheduling/place.ts'
import { parseQuantities } from '../../../src/domain/scheduling/quantity.ts'
import { openRoom, type AgentRoom } from '../../../src/domain/scheduling/room.ts'
import type { AgentSelector } from '../../../src/domain/scheduling/select-agent.ts'
import type { Sequence } from '../../../src/domain/scheduling/sequence.ts'
import { shapeOf, type Shape } from '../../../src/domain/scheduling/shape.ts'
import type { ClusterMode } from '../../../src/domain/session/statuses.ts'

export type Amounts = Readonly<Record<string, string>>

/** `free` is all of it where nothing is said. */
export function room(id: string, capacity: Amounts, free: Amounts = capacity, labels: Amounts = {}): AgentRoom {
  return openRoom({ id, labels, capacity: parseQuantities(capacity), free: parseQuantities({ ...capacity, ...free }) })
}

export interface ShapeSpec {
  size?: number
  mode?: ClusterMode
  allowAgents?: string[]
  excludeAgents?: string[]
  agentLabels?: Record<string, string>
}

export function shape(slots: Amounts, { size = 1, mode = 'SINGLE_NODE', ...spec }: ShapeSpec = {}): Shape {
  const given = { allowAgents: [], excludeAgents: [], agentLabels: {}, ...spec }
  return shapeOf({ clusterMode: mode, kernels: size, slots: parseQuantities(slots), ...given })
}

export type SessionSpec = ShapeSpec & Partial<Omit<PlaceableSession, 'avoidAgents'>> & { avoidAgents?: string[] }

/** Created in the order of their ids, where nothing is said. */
export function session(id: string, slots: Amounts, spec: SessionSpec = {}): PlaceableSession {
  const { size = 1, mode, allowAgents, excludeAgents, agentLabels, avoidAgents = [], ...given } = spec
  const theirs = shape(slots, {
    size,
    ...(mode && { mode }),
    ...(allowAgents && { allowAgents }),
    ...(excludeAgents && { excludeAgents }),
    ...(agentLabels && { agentLabels }),
  })
  const { owner = 'ada', priority = 10 } = given
  const lane = `${owner} ${priority} ${theirs.key}`
  return {
    id,
    lane,
    claimedLane: lane,
    priority,
    createdAt: 0,
    owner,
    shape: theirs,
    skips: 0,
    quotas: [],
    kernelIds: Array.from({ length: size }, (_, n) => `${id}-${n}`),
    avoidAgents: avoidedInOrder(avoidAgents),
    ...given,
  }
}

/** One look at a whole line. */
export function placeAll(
  sessions: readonly PlaceableSession[],
  rooms: readonly AgentRoom[],
  options: {
    selector?: AgentSelector
    roundRobinAt?: string
    sequence?: Sequence<PlaceableSession>
    longLanes?: readonly string[]
  } = {},
): Placement & { roundRobinAt: string | null } {
  const { selector = 'DISPERSED', roundRobinAt = null, longLanes = [] } = options
  const sequence = options.sequence ?? inOrderOfAge(sessions, false, sessions.length)
  const pool = createAgentPool(rooms, selector, roundRobinAt)
  const placement = place({ sessions, sequence, longLanes: new Set(longLanes), group: 'g' }, pool)
  return { ...placement, roundRobinAt: pool.roundRobinAt }
}

/** `{ session: 'agent agent' }`. */
export function agentsOf({ placed }: Placement): Record<string, string> {
  return Object.fromEntries(
    placed.map(({ sessionId, kernels }) => [sessionId, kernels.map(({ agentId }) => agentId).join(' ')]),
  )
}

export function orderOf({ placed }: Placement): string {
  return placed.map(({ sessionId }) => sessionId).join(' ')
}
