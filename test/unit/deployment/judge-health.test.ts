import { expect, it } from 'vitest'
import { judgeHealth } from '../../../src/domain/deployment/health.ts'
import type { RouteStatus } from '../../../src/domain/deployment/lifecycle.ts'

const BASE = { healthyThreshold: 2, unhealthyThreshold: 3, lastCheckFault: 'it answered 500' }

it.each<[RouteStatus, successes: number, failures: number, stale: boolean, result: string]>([
  ['DEGRADED', 0, 0, false, 'stays'],
  ['DEGRADED', 1, 0, false, 'stays'],
  ['DEGRADED', 2, 0, false, 'SUCCESS'],
  ['DEGRADED', 0, 2, false, 'stays'],
  ['DEGRADED', 0, 3, false, 'FAILURE'],
  ['DEGRADED', 9, 0, true, 'stays'],
  ['HEALTHY', 9, 0, false, 'stays'],
  ['HEALTHY', 0, 2, false, 'stays'],
  ['HEALTHY', 0, 3, false, 'FAILURE'],
  ['HEALTHY', 9, 0, true, 'STALE'],
  ['HEALTHY', 0, 9, true, 'STALE'],
  ['UNHEALTHY', 1, 0, false, 'stays'],
  ['UNHEALTHY', 2, 0, false, 'SUCCESS'],
  ['UNHEALTHY', 0, 9, false, 'stays'],
  ['UNHEALTHY', 0, 9, true, 'STALE'],
])('%s after %i successes and %i failures, stale %s: %s', (status, successes, failures, stale, result) => {
  expect(judgeHealth({ ...BASE, status, successes, failures, stale })?.result ?? 'stays').toBe(result)
})

it('says what was found', () => {
  const found = { ...BASE, status: 'HEALTHY' as const, successes: 0, failures: 3, stale: false }
  expect(judgeHealth(found)?.message).toBe('3 health checks in a row failed: it answered 500')
  expect(judgeHealth({ ...found, unhealthyThreshold: 1, failures: 1 })?.message).toBe(
    'a health check failed: it answered 500',
  )
})
