import { ROUTE_BACKOFF_MAX_MS, ROUTE_BACKOFF_MIN_MS, ROUTES_STARTED_PER_PASS_MAX } from '../limits.ts'
import type { RouteStatus } from './lifecycle.ts'
import { computeDelay, type DelayPolicy } from '../retry/delay.ts'

/** The facts about a route that the plan needs. */
export interface PlannedRoute {
  id: string
  revision: number
  status: RouteStatus
  /** The route has been healthy before. */
  wasHealthy: boolean
}

export interface ReplicasWanted extends RolloutSettings {
  revision: number
}

export interface ReplicaPlan {
  /** Routes of the wanted revision to start now. */
  start: number
  /** Route ids, in the order in which they are stopped. */
  stop: string[]
  /**
   * Exactly the wanted number of routes of the wanted revision is live, all are healthy, and no other route is live.
   */
  settled: boolean
}

/** Whether a route serves or may come to serve; all other routes have ended or are ending. */
export function isLive(status: RouteStatus): boolean {
  return status === 'PROVISIONING' || status === 'DEGRADED' || status === 'HEALTHY' || status === 'UNHEALTHY'
}

/**
 * Plans the next step towards the wanted replicas. Surplus routes are stopped first, the worst first; then routes of
 * other revisions, which serve until their replacements do. A step never brings the number of healthy routes below
 * `minHealthy` if it was that high, and never starts routes beyond `replicas + maxSurge` live ones.
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
  const free = replicas + maxSurge - (live.length - stop.length)
  return {
    start: Math.max(0, Math.min(missing, free, ROUTES_STARTED_PER_PASS_MAX)),
    stop: stop.map(({ id }) => id),
    settled: live.length === replicas && current.length === replicas && healthyIn(current) === replicas,
  }
}

const WORTH: Readonly<Partial<Record<RouteStatus, number>>> = { UNHEALTHY: 0, PROVISIONING: 1, DEGRADED: 2, HEALTHY: 4 }

/** A deployment's rollout settings; null means the default. */
export interface RolloutSettings {
  replicas: number
  minHealthy: number | null
  maxSurge: number | null
}

/**
 * The bounds during an update: never fewer healthy routes than `minHealthy`, if there were that many, and never more
 * routes than `replicas + maxSurge`. As in Kubernetes, both default to a quarter, and if neither leaves room for a step
 * (after scaling, or by rounding), one replica may be missing.
 */
export function rolloutBounds({ replicas, minHealthy, maxSurge }: RolloutSettings): {
  minHealthy: number
  maxSurge: number
} {
  const surge = maxSurge ?? Math.max(1, Math.ceil(replicas / 4))
  const least = Math.min(minHealthy ?? replicas - Math.floor(replicas / 4), replicas)
  return { minHealthy: surge === 0 && least === replicas ? Math.max(0, replicas - 1) : least, maxSurge: surge }
}

const BACKOFF: DelayPolicy = {
  delays: null,
  retryDelay: ROUTE_BACKOFF_MIN_MS / 1000,
  backoff: 'EXPONENTIAL',
  backoffMultiplier: 2,
  maxRetryDelay: ROUTE_BACKOFF_MAX_MS / 1000,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.25,
}

/**
 * The pause in ms before the next start after `failures` (at least 1) consecutive failed routes, computed like a
 * session's retry delay.
 */
export function startBackoffMs(failures: number, failedSessionId: string): number {
  return computeDelay({ policy: BACKOFF, sessionId: failedSessionId, retryCount: failures - 1, random: 0 }).delayMs
}

/**
 * Selects routes of other revisions to stop. `spare` is the number of healthy routes that may be stopped. A route that
 * may soon be healthy again is stopped only if `spare` is not negative.
 */
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

/** Sorts equally bad routes by id, the newest first. */
function worstFirst(a: PlannedRoute, b: PlannedRoute): number {
  return worthOf(a) - worthOf(b) || (a.id < b.id ? 1 : -1)
}

function worthOf({ status, wasHealthy }: PlannedRoute): number {
  return (WORTH[status] ?? 0) + (status === 'DEGRADED' && wasHealthy ? 1 : 0)
}
