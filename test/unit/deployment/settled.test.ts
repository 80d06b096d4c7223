import { expect, test } from 'vitest'
import { type DeploymentStatus, isSettled, type RouteStatus } from '../../../src/domain/deployment/lifecycle.ts'

type Counts = [status: RouteStatus, count: number, present: number][]

test.each<[DeploymentStatus, number, Counts, boolean]>([
  ['READY', 2, [['HEALTHY', 2, 2]], true],
  ['READY', 0, [], true],
  [
    'READY',
    2,
    [
      ['HEALTHY', 2, 2],
      ['TERMINATED', 9, 1],
    ],
    true,
  ],
  // Scaled, updated or failing, and no handler has looked yet.
  ['READY', 3, [['HEALTHY', 2, 2]], false],
  ['READY', 1, [['HEALTHY', 2, 2]], false],
  ['READY', 2, [['HEALTHY', 2, 1]], false],
  [
    'READY',
    2,
    [
      ['HEALTHY', 1, 1],
      ['UNHEALTHY', 1, 1],
    ],
    false,
  ],
  [
    'READY',
    2,
    [
      ['HEALTHY', 2, 2],
      ['TERMINATING', 1, 0],
    ],
    false,
  ],
  ['SCALING', 2, [['HEALTHY', 2, 2]], false],
  ['PENDING', 0, [], false],
  ['DESTROYING', 0, [], false],
  ['DESTROYED', 2, [['TERMINATED', 2, 2]], true],
])('%s with %d wanted and %j: %s', (status, replicas, counts, settled) => {
  const counted = counts.map(([of, count, present]) => ({ status: of, count, present }))
  expect(isSettled({ status, replicas }, counted)).toBe(settled)
})
