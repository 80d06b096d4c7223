import type { RouteResult, RouteStatus } from './lifecycle.ts'

/** The printable ASCII characters allowed in a request line, without `#`: a fragment never reaches the server. */
const PATH = /^\/[!-"$-[\]-~]*$/

/** Accepts a path on the checked program only: a path that begins with two slashes would name another host. */
export function isHealthPath(text: string): boolean {
  return PATH.test(text) && !text.startsWith('//')
}

/** The prober's findings about one route. */
interface RouteHealth {
  status: RouteStatus
  /** Consecutive checks with the same outcome; one of the two is 0. */
  successes: number
  failures: number
  healthyThreshold: number
  unhealthyThreshold: number
  lastCheckFault: string | null
  /** The last check is too old to count. */
  stale: boolean
}

/** Judges a route by its checks; undefined if nothing changes. */
export function judgeHealth(health: RouteHealth): { result: RouteResult; message: string } | undefined {
  const { status, successes, failures, lastCheckFault } = health
  if (health.stale) {
    if (status === 'DEGRADED') return undefined
    return { result: 'STALE', message: 'its last health check is too old' }
  }
  if (status !== 'HEALTHY' && successes >= health.healthyThreshold) {
    return { result: 'SUCCESS', message: inARow(successes, 'succeeded') }
  }
  if (status !== 'UNHEALTHY' && failures >= health.unhealthyThreshold) {
    return { result: 'FAILURE', message: `${inARow(failures, 'failed')}: ${lastCheckFault ?? 'no reason given'}` }
  }
  return undefined
}

function inARow(checks: number, outcome: string): string {
  return checks === 1 ? `a health check ${outcome}` : `${checks} health checks in a row ${outcome}`
}
