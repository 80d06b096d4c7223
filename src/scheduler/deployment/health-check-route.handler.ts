import { ROUTE_HANDLERS } from '../../domain/deployment/handlers.ts'
import { judgeHealth } from '../../domain/deployment/judge-health.ts'
import { handleRoutes } from './handle-routes.ts'

/** → HEALTHY, UNHEALTHY or DEGRADED, according to the results that the prober has recorded. */
export const healthCheckRoute = handleRoutes(ROUTE_HANDLERS['health-check-route'], {
  wakes: ['drive-routes'],
  find: (route) => {
    const judged = judgeHealth(route)
    return judged && { id: route.id, ...judged }
  },
})
