/** CREATED and DEPLOYING are read, never written. */
export const DEPLOYMENT_STATUSES = [
  'PENDING',
  'CREATED',
  'DEPLOYING',
  'SCALING',
  'READY',
  'DESTROYING',
  'DESTROYED',
] as const

export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const ROUTE_STATUSES = [
  'PROVISIONING',
  'DEGRADED',
  'HEALTHY',
  'UNHEALTHY',
  'FAILED_TO_START',
  'TERMINATING',
  'TERMINATED',
] as const

export type RouteStatus = (typeof ROUTE_STATUSES)[number]
