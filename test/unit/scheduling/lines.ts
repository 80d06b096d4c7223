import type { GpuNeed } from '../../../src/domain/gpu.ts'
import {
  agentCapacity,
  type AgentCapacity,
  type AgentSelector,
  avoidedInOrder,
  createAgentPool,
} from '../../../src/domain/scheduling/agent-pool.ts'
import { inOrderOfAge, type Sequence } from '../../../src/domain/scheduling/sequence.ts'
import { place, type PlaceableSession, type Placement } from '../../../src/domain/scheduling/place.ts'
import {
  parseQuantities,
  resourceRequest,
  type ResourceRequest,
} from '../../../src/domain/scheduling/resource-request.ts'
import type { ClusterMode } from '../../../src/domain/session/lifecycle.ts'

export type Amounts = Readonly<Record<string, string>>

/** `free` is all of it where nothing is said. */
export function agentWith(
  id: string,
  capacity: Amounts,
  free: Amounts = capacity,
  labels: Amounts = {},
  perKernel: Amounts | null = null,
  ports = true,
): AgentCapacity {
  return agentCapacity({
    id,
    labels,
    capacity: parseQuantities(capacity),
    perKernel: perKernel && parseQuantities(perKernel),
    ports,
    free: parseQuantities({ ...capacity, ...free }),
  })
}

export interface RequestSpec {
  size?: number
  mode?: ClusterMode
  allowAgents?: string[]
  excludeAgents?: string[]
  agentLabels?: Record<string, string>
  needsPorts?: boolean
  gpuNeed?: GpuNeed | null
}

export function request(
  slots: Amounts,
  { size = 1, mode = 'SINGLE_NODE', ...spec }: RequestSpec = {},
): ResourceRequest {
  const given = { allowAgents: [], excludeAgents: [], agentLabels: {}, ...spec }
  return resourceRequest({ clusterMode: mode, kernels: size, slots: parseQuantities(slots), ...given })
}

export type SessionSpec = RequestSpec & Partial<Omit<PlaceableSession, 'avoidAgents'>> & { avoidAgents?: string[] }

/** Created in the order of their ids, where nothing is said. */
export function session(id: string, slots: Amounts, spec: SessionSpec = {}): PlaceableSession {
  const { size = 1, mode, allowAgents, excludeAgents, agentLabels, gpuNeed, avoidAgents = [], ...given } = spec
  const theirs = request(slots, {
    size,
    ...(mode && { mode }),
    ...(allowAgents && { allowAgents }),
    ...(excludeAgents && { excludeAgents }),
    ...(agentLabels && { agentLabels }),
    ...(gpuNeed && { gpuNeed }),
  })
  const { owner = 'ada', priority = 10 } = given
  const schedulingClass = `${owner} ${priority} ${theirs.key}`
  return {
    id,
    schedulingClass,
    claimedClass: schedulingClass,
    priority,
    createdAt: 0,
    owner,
    request: theirs,
    skips: 0,
    quotas: [],
    keyUse: null,
    keyLimit: 1,
    kernelIds: Array.from({ length: size }, (_, n) => `${id}-${n}`),
    avoidAgents: avoidedInOrder(avoidAgents),
    ...given,
  }
}

/** One look at a whole line. */
export function placeAll(
  sessions: readonly PlaceableSession[],
  agents: readonly AgentCapacity[],
  options: {
    selector?: AgentSelector
    roundRobinAt?: string
    sequence?: Sequence<PlaceableSession>
    longClasses?: readonly string[]
  } = {},
): Placement & { roundRobinAt: string | null } {
  const { selector = 'DISPERSED', roundRobinAt = null, longClasses = [] } = options
  const sequence = options.sequence ?? inOrderOfAge(sessions, false, sessions.length)
  const pool = createAgentPool(agents, selector, roundRobinAt)
  const placement = place({ sessions, sequence, longClasses: new Set(longClasses), group: 'g' }, pool)
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
