/** All statuses of a deployment. CREATED and DEPLOYING are read, never written. */
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

/**
 * The allowed moves of a deployment, by its handlers or by a person who destroys it; all others are refused. Each write
 * names the status it moves from.
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
 * The allowed moves of a route, by its own handlers or by those of its deployment, which end surplus routes and routes
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

export type DeploymentResult = 'SUCCESS' | 'FAILURE'
export type RouteResult = 'SUCCESS' | 'FAILURE' | 'STALE'

/** The statuses that one handler works on, and the status that each of its results leads to; null keeps the status. */
interface StatusDeclaration<Name extends string, Status extends string, Result extends string> {
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

/** The parts of the server that write scheduling history of deployments and routes. */
export type DeploymentPhase = DeploymentHandlerName | RouteHandlerName | 'destroy-deployment'

export type RouteDeclaration = StatusDeclaration<RouteHandlerName, RouteStatus, RouteResult>

/** All route handlers by name. Handlers that never return STALE declare it as null. */
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

/** A handler's result for one deployment or route. An entity without a finding stays as it is. */
export interface Finding<Result extends string> {
  id: string
  result: Result
  /** The reason, for people; null if there is none. */
  message: string | null
}

/** The facts about a deployment or route that the judge needs. */
interface Declared<Status extends string> {
  id: string
  status: Status
  /** The recorded reason for its status. */
  statusReason: string | null
}

export interface DeclaredMove<Status extends string, Result extends string> {
  id: string
  from: Status
  to: Status
  outcome: Result
  message: string | null
}

/**
 * Turns results into moves, without tries and timeouts: a result leads to the declared status, and null keeps the
 * status. A message that keeps the status is not recorded again if it equals the recorded reason.
 * @throws Error for a move that the transition table does not allow: the declaration contradicts it
 */
export function judgeDeclared<Name extends string, Status extends string, Result extends string>(
  declaration: StatusDeclaration<Name, Status, Result>,
  transitions: Readonly<Record<Status, readonly Status[]>>,
  things: readonly Declared<Status>[],
  findings: readonly Finding<Result>[],
): DeclaredMove<Status, Result>[] {
  const byId = new Map(findings.map((finding) => [finding.id, finding]))
  return things.flatMap(({ id, status, statusReason }) => {
    const finding = byId.get(id)
    if (!finding) return []
    const { result, message } = finding
    const to = declaration.leadsTo[result] ?? status
    if (to !== status && !transitions[status].includes(to)) {
      throw new Error(`${declaration.name}: ${status} → ${to} is not an allowed transition`)
    }
    if (to === status && message === statusReason) return []
    return [{ id, from: status, to, outcome: result, message }]
  })
}

interface CountedRoutes {
  status: RouteStatus
  count: number
  /** The number of these routes that have the deployment's present revision. */
  present: number
}

/**
 * Whether all requested changes are done. READY alone covers only what was requested before the handlers' last pass.
 */
export function isSettled(
  { status, replicas }: { status: DeploymentStatus; replicas: number },
  counts: readonly CountedRoutes[],
): boolean {
  if (status !== 'READY') return status === 'DESTROYED'
  const living = counts.filter((counted) => counted.status !== 'TERMINATED')
  const present = living.reduce((sum, counted) => sum + (counted.status === 'HEALTHY' ? counted.present : 0), 0)
  const all = living.reduce((sum, counted) => sum + counted.count, 0)
  return present === replicas && all === replicas
}
