import type { DeploymentStatus, RouteStatus } from './statuses.ts'

interface CountedRoutes {
  status: RouteStatus
  count: number
  /** Of these, the routes of the deployment's present revision. */
  present: number
}

/**
 * Whether everything asked for is done. READY alone reflects only what was asked for before the handlers' last pass.
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
