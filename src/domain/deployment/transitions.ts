import type { DeploymentStatus, RouteStatus } from './statuses.ts'

/**
 * The moves a deployment may make, by its handlers and by a person who destroys it; everything else is refused. Each
 * write names the status it moves from.
 */
export const DEPLOYMENT_TRANSITIONS: Readonly<Record<DeploymentStatus, readonly DeploymentStatus[]>> = {
  PENDING: ['SCALING', 'DESTROYING'],
  CREATED: ['SCALING', 'DESTROYING'],
  DEPLOYING: ['DESTROYING'],
  SCALING: ['READY', 'DESTROYING'],
  READY: ['SCALING', 'DESTROYING'],
  DESTROYING: ['DESTROYED'],
  DESTROYED: [],
}

/**
 * The moves a route may make: by its own handlers, and by those of its deployment, which end surplus routes and routes
 * of old revisions.
 */
export const ROUTE_TRANSITIONS: Readonly<Record<RouteStatus, readonly RouteStatus[]>> = {
  PROVISIONING: ['DEGRADED', 'FAILED_TO_START', 'TERMINATING'],
  DEGRADED: ['HEALTHY', 'UNHEALTHY', 'TERMINATING'],
  HEALTHY: ['DEGRADED', 'UNHEALTHY', 'TERMINATING'],
  UNHEALTHY: ['HEALTHY', 'DEGRADED', 'TERMINATING'],
  FAILED_TO_START: ['TERMINATING'],
  TERMINATING: ['TERMINATED'],
  TERMINATED: [],
}
