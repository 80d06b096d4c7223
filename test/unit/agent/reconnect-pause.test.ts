import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reconnectPauseMs } from '../../../src/waiting/wait.ts'
import { checkProperty } from '../../support/seeds.ts'

test('grows to five seconds and is never nothing', () => {
  expect([1, 2, 3, 10].map((failures) => reconnectPauseMs(failures, 1))).toEqual([100, 200, 400, 5_000])
  checkProperty(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, random) => {
        const pauseMs = reconnectPauseMs(failures, random)
        expect(pauseMs).toBeGreaterThanOrEqual(50)
        expect(pauseMs).toBeLessThanOrEqual(5_000)
      },
    ),
  )
})
