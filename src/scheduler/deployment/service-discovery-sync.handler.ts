import { ROUTE_HANDLERS } from '../../domain/deployment/handlers.ts'
import { handleRoutes } from './handle-routes.ts'

/** Publishes HEALTHY routes that service discovery does not list yet. */
export const serviceDiscoverySync = handleRoutes(ROUTE_HANDLERS['service-discovery-sync'], {
  wakes: [],
  find: ({ id }) => ({ id, result: 'SUCCESS', message: 'clients are sent to it', publish: true }),
})
