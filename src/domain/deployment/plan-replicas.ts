import { ROUTES_STARTED_PER_LOOK_MAX } from '../limits.ts'
import { rolloutBounds, type RolloutSettings } from './rollout.ts'
import type { RouteStatus } from './statuses.ts'

/** A route as the plan sees it. */
export interface PlannedRoute {
  id: string
  revision: number
  status: RouteStatus
  /** It has been healthy before. */
  wasHealthy: boolean
}

export interface ReplicasWanted extends RolloutSettings {
  revision: number
}

export interface ReplicaPlan {
  /** Routes of the wanted revision to begin now. */
  start: number
  /** Ids, in the order in which they go. */
  stop: string[]
  /** As many routes of the wanted revision live as are wanted, all healthy, and no others. */
  settled: boolean
}

/** Those that serve, or are on their way to it: the others are over, or will be without anybody's doing. */
export function isLive(status: RouteStatus): boolean {
  return status === 'PROVISIONING' || status === 'DEGRADED' || status === 'HEALTHY' || status === 'UNHEALTHY'
}

/**
 * The next step towards the wanted replicas. Of the routes that are there: first those go that are too many, the worst
 * first; then those of other revisions, which serve until others do. Never so that fewer than `minHealthy` are
 * healthy where there were that many, and nothing begins that would make more than `replicas + maxSurge` live.
 */
export function planReplicas(wanted: ReplicasWanted, routes: readonly PlannedRoute[]): ReplicaPlan {
  const { replicas, revision } = wanted
  const { minHealthy, maxSurge } = rolloutBounds(wanted)
  const live = routes.filter(({ status }) => isLive(status)).toSorted(worstFirst)
  const current = live.filter((route) => route.revision === revision)
  const others = live.filter((route) => route.revision !== revision)
  const surplus = current.slice(0, Math.max(0, current.length - replicas))
  const replaced = replaceable(others, healthyIn(live) - healthyIn(surplus) - minHealthy, replicas === 0)
  const stop = [...surplus, ...replaced]
  const missing = replicas - (current.length - surplus.length)
  const room = replicas + maxSurge - (live.length - stop.length)
  return {
    start: Math.max(0, Math.min(missing, room, ROUTES_STARTED_PER_LOOK_MAX)),
    stop: stop.map(({ id }) => id),
    settled: live.length === replicas && current.length === replicas && healthyIn(current) === replicas,
  }
}

/** `spare`: how many healthy routes may go. One that may be healthy again in a moment goes only where none is lacking. */
function replaceable(others: readonly PlannedRoute[], spare: number, all: boolean): PlannedRoute[] {
  let left = spare
  return others.filter((route) => {
    if (all) return true
    if (route.status === 'HEALTHY') return left-- > 0
    return route.status !== 'DEGRADED' || !route.wasHealthy || spare >= 0
  })
}

function healthyIn(routes: readonly PlannedRoute[]): number {
  return routes.filter(({ status }) => status === 'HEALTHY').length
}

const WORTH: Readonly<Partial<Record<RouteStatus, number>>> = { UNHEALTHY: 0, PROVISIONING: 1, DEGRADED: 2, HEALTHY: 4 }

/** Of equal ones the newest, by id. */
function worstFirst(a: PlannedRoute, b: PlannedRoute): number {
  return worthOf(a) - worthOf(b) || (a.id < b.id ? 1 : -1)
}

function worthOf({ status, wasHealthy }: PlannedRoute): number {
  return (WORTH[status] ?? 0) + (status === 'DEGRADED' && wasHealthy ? 1 : 0)
}
