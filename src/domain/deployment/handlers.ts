import type { DeploymentStatus, RouteStatus } from './statuses.ts'

export type DeploymentResult = 'SUCCESS' | 'FAILURE'
export type RouteResult = 'SUCCESS' | 'FAILURE' | 'STALE'

/** The statuses that one handler works on, and the status that each of its results leads to; null keeps the status. */
export interface StatusDeclaration<Name extends string, Status extends string, Result extends string> {
  name: Name
  statusIn: readonly Status[]
  leadsTo: Readonly<Record<Result, Status | null>>
}

export type DeploymentHandlerName =
  | 'check-pending-deployment'
  | 'scaling-deployment'
  | 'check-replica-deployment'
  | 'reconcile-deployment'
  | 'destroying-deployment'

export type DeploymentDeclaration = StatusDeclaration<DeploymentHandlerName, DeploymentStatus, DeploymentResult>

export const DEPLOYMENT_HANDLERS: Readonly<Record<DeploymentHandlerName, DeploymentDeclaration>> = {
  'check-pending-deployment': {
    name: 'check-pending-deployment',
    statusIn: ['PENDING', 'CREATED'],
    leadsTo: { SUCCESS: 'SCALING', FAILURE: null },
  },
  'scaling-deployment': {
    name: 'scaling-deployment',
    statusIn: ['SCALING'],
    leadsTo: { SUCCESS: 'READY', FAILURE: null },
  },
  'check-replica-deployment': {
    name: 'check-replica-deployment',
    statusIn: ['READY'],
    leadsTo: { SUCCESS: 'SCALING', FAILURE: null },
  },
  'reconcile-deployment': {
    name: 'reconcile-deployment',
    statusIn: ['READY'],
    leadsTo: { SUCCESS: null, FAILURE: 'SCALING' },
  },
  'destroying-deployment': {
    name: 'destroying-deployment',
    statusIn: ['DESTROYING'],
    leadsTo: { SUCCESS: 'DESTROYED', FAILURE: 'DESTROYED' },
  },
}

export type RouteHandlerName =
  | 'provisioning-route'
  | 'health-check-route'
  | 'running-route'
  | 'route-eviction'
  | 'terminating-route'
  | 'service-discovery-sync'

export type RouteDeclaration = StatusDeclaration<RouteHandlerName, RouteStatus, RouteResult>

/** Handlers that never return STALE declare it as null. */
export const ROUTE_HANDLERS: Readonly<Record<RouteHandlerName, RouteDeclaration>> = {
  'provisioning-route': {
    name: 'provisioning-route',
    statusIn: ['PROVISIONING'],
    leadsTo: { SUCCESS: 'DEGRADED', FAILURE: 'FAILED_TO_START', STALE: null },
  },
  'health-check-route': {
    name: 'health-check-route',
    statusIn: ['HEALTHY', 'UNHEALTHY', 'DEGRADED'],
    leadsTo: { SUCCESS: 'HEALTHY', FAILURE: 'UNHEALTHY', STALE: 'DEGRADED' },
  },
  'running-route': {
    name: 'running-route',
    statusIn: ['DEGRADED', 'HEALTHY', 'UNHEALTHY', 'FAILED_TO_START'],
    leadsTo: { SUCCESS: null, FAILURE: 'TERMINATING', STALE: null },
  },
  'route-eviction': {
    name: 'route-eviction',
    statusIn: ['UNHEALTHY'],
    leadsTo: { SUCCESS: 'TERMINATING', FAILURE: null, STALE: null },
  },
  'terminating-route': {
    name: 'terminating-route',
    statusIn: ['TERMINATING'],
    leadsTo: { SUCCESS: 'TERMINATED', FAILURE: null, STALE: null },
  },
  'service-discovery-sync': {
    name: 'service-discovery-sync',
    statusIn: ['HEALTHY'],
    leadsTo: { SUCCESS: null, FAILURE: null, STALE: null },
  },
}
