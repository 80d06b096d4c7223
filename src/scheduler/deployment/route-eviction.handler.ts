import { ROUTE_HANDLERS } from '../../domain/deployment/handlers.ts'
import { handleRoutes } from './handle-routes.ts'

/** UNHEALTHY → TERMINATING if it has not recovered in time; another route replaces it. */
export const routeEviction = handleRoutes(ROUTE_HANDLERS['route-eviction'], {
  wakes: ['drive-routes'],
  find: ({ id, evictAfterMs, lastCheckFault }) => {
    const found = lastCheckFault === null ? '' : `: ${lastCheckFault}`
    return { id, result: 'SUCCESS', message: `it was unhealthy for ${evictAfterMs / 1000} s${found}` }
  },
})
