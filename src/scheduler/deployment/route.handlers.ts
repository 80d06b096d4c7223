import { ROUTE_HANDLERS, type RouteDeclaration } from '../../domain/deployment/lifecycle.ts'
import { judgeHealth } from '../../domain/deployment/health.ts'
import { isTerminal } from '../../domain/session/lifecycle.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { Queryable } from '../../store/database.ts'
import { type ClaimedRoute, claimRoutes } from '../../store/sql/deployment/claim-deployments.sql.ts'
import { terminateRouteSessions } from '../../store/sql/session/terminate-session.sql.ts'
import type { RouteFinding, RouteHandler } from './deployment-kinds.ts'

/** PROVISIONING → DEGRADED as soon as its session runs with a port; → FAILED_TO_START if it will not. */
export const provisioningRoute = handleRoutes(ROUTE_HANDLERS['provisioning-route'], {
  wakes: ['drive-routes', 'check-route-health'],
  find: (route): RouteFinding => {
    const { id, host, port, firstCheckInMs, sessionStatus } = route
    if (sessionStatus === 'RUNNING' && host !== null && port !== null) {
      return { id, result: 'SUCCESS', message: 'it has not been checked yet', endpoint: { host, port, firstCheckInMs } }
    }
    return { id, result: 'FAILURE', message: explainShortage(route) }
  },
})

function explainShortage({ sessionStatus, sessionReason, startTimeoutMs, port }: ClaimedRoute): string {
  const reason = sessionReason === null ? '' : `: ${sessionReason}`
  if (isTerminal(sessionStatus) || sessionStatus === 'TERMINATING') return `its session ended before it served${reason}`
  if (sessionStatus === 'RUNNING' && port === null) return 'its agent has reported no port for it'
  return `its session is ${sessionStatus} after ${startTimeoutMs / 1000} s${reason}`
}

/** → HEALTHY, UNHEALTHY or DEGRADED, according to the results that the prober has recorded. */
export const healthCheckRoute = handleRoutes(ROUTE_HANDLERS['health-check-route'], {
  wakes: ['drive-routes'],
  find: (route) => {
    const judged = judgeHealth(route)
    return judged && { id: route.id, ...judged }
  },
})

/** → TERMINATING if its session no longer runs, never started, or was not healthy in time. */
export const runningRoute = handleRoutes(ROUTE_HANDLERS['running-route'], {
  wakes: ['drive-routes'],
  find: (route) => ({ id: route.id, result: 'FAILURE', message: whyOver(route) }),
})

function whyOver({ status, statusReason, sessionStatus, sessionReason, startTimeoutMs, lastCheckFault }: ClaimedRoute) {
  if (status === 'FAILED_TO_START') return statusReason
  if (sessionStatus !== 'RUNNING') {
    return sessionReason === null ? `its session is ${sessionStatus}` : `its session ended: ${sessionReason}`
  }
  const found = lastCheckFault === null ? '' : `: ${lastCheckFault}`
  return `it was not healthy within ${startTimeoutMs / 1000} s${found}`
}

/** UNHEALTHY → TERMINATING if it has not recovered in time; another route replaces it. */
export const routeEviction = handleRoutes(ROUTE_HANDLERS['route-eviction'], {
  wakes: ['drive-routes'],
  find: ({ id, evictAfterMs, lastCheckFault }) => {
    const found = lastCheckFault === null ? '' : `: ${lastCheckFault}`
    return { id, result: 'SUCCESS', message: `it was unhealthy for ${evictAfterMs / 1000} s${found}` }
  },
})

/**
 * TERMINATING → TERMINATED when its session is over. Discovery no longer lists a TERMINATING route; its session is
 * terminated only after clients have had time to notice.
 */
export const terminatingRoute = handleRoutes(ROUTE_HANDLERS['terminating-route'], {
  wakes: ['drive-deployments'],
  find: ({ id, sessionStatus, statusReason }) =>
    isTerminal(sessionStatus) ? { id, result: 'SUCCESS', message: statusReason } : undefined,
  async also(tx, routes) {
    const toEnd = routes.filter(({ sessionStatus }) => !isTerminal(sessionStatus))
    await terminateRouteSessions(
      tx,
      toEnd.map(({ sessionId }) => sessionId),
    )
    return toEnd.length === 0 ? [] : ['terminate-sessions', 'promote-to-terminated', 'drive-routes', 'events']
  },
})

/** Publishes HEALTHY routes that service discovery does not list yet. */
export const serviceDiscoverySync = handleRoutes(ROUTE_HANDLERS['service-discovery-sync'], {
  wakes: [],
  find: ({ id }) => ({ id, result: 'SUCCESS', message: 'clients are sent to it', publish: true }),
})

/** How long this server has been checking the health of routes, in milliseconds. */
type Watched = () => number

/** A handler of routes: `find` judges each route separately; `also` writes for the whole batch. */
function handleRoutes(
  declaration: RouteDeclaration,
  options: {
    wakes: readonly WakeTopic[]
    find(route: ClaimedRoute): RouteFinding | undefined
    also?(tx: Queryable, routes: readonly ClaimedRoute[]): Promise<readonly WakeTopic[]>
  },
): (watched: Watched) => RouteHandler {
  return (watched) => ({
    declaration,
    wakes: options.wakes,
    agentsOf: () => [],
    claim: (tx, { limit }) => claimRoutes(tx, declaration, { limit, watchedMs: watched() }),
    async execute(tx, routes) {
      const wakes = (await options.also?.(tx, routes)) ?? []
      return { wakes, findings: routes.flatMap((route) => options.find(route) ?? []) }
    },
  })
}
