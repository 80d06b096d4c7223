import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { endedBeforeStop, endedInTime, uptimeAt } from '../../../src/agent/executors/time-limit.ts'
import { parseJobStatus } from '../../../src/agent/executors/slurm/slurm-status.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { checkProperty } from '../../support/seeds.ts'

const kernel = { spec: { batchTimeoutMs: 10_000 }, beganAt: 100, stopAt: null, ranSeconds: null }

describe('whether a program ended within its time limit', () => {
  test.each([
    ['as long as it may', { ranSeconds: 10 }, true],
    ['longer by what the clock cannot tell', { ranSeconds: 10.01 }, true],
    ['longer', { ranSeconds: 10.1 }, false],
    ['for a time that nobody knows', {}, undefined],
    ['without a limit', { ranSeconds: 1e9, spec: {} }, undefined],
    ['without a limit, as null', { ranSeconds: 1e9, spec: { batchTimeoutMs: null } }, undefined],
  ])('that ran %s', (_, how, expected) => {
    expect(endedInTime({ ...kernel, ...how }, false)).toBe(expected)
  })

  test('one that runs is told to be too late once it is to stop', () => {
    expect(endedInTime({ ...kernel, beganAt: -1e6, stopAt: 0 }, true)).toBe(false)
    expect(endedInTime({ ...kernel, beganAt: -1e6 }, true)).toBeUndefined()
    expect(endedInTime({ ...kernel, beganAt: 1e9, stopAt: 1e9 }, true)).toBeUndefined()
  })
})

test.each([
  [null, 5, false],
  [7, null, false],
  [7, 6.99, true],
  [7, 7, false],
  [7, 8, false],
])('a stop at %s is not why one ended at %s: %s', (stopAt, endedAt, expected) => {
  expect(endedBeforeStop({ stopAt }, endedAt)).toBe(expected)
})

describe('an end of which only the wall clock is known', () => {
  const seconds = (max: number) => fc.integer({ min: 0, max: max * 100 }).map((hundredths) => hundredths / 100)

  test('is found exactly while nobody sets the clock', () => {
    checkProperty(
      fc.property(
        seconds(1e6),
        seconds(1e5),
        seconds(1e5),
        fc.integer({ min: 0, max: 2e12 }),
        (up, ran, later, wall) => {
          const noticed = { uptime: up + ran + later, wallMs: wall + (ran + later) * 1000 }
          const at = uptimeAt(wall + ran * 1000, { uptime: up, wallMs: wall }, noticed)
          expect(at).toBeCloseTo(up + ran, 2)
        },
      ),
    )
  })

  test('is never before it was, and never after it was noticed, however the clock is set once meanwhile', () => {
    const jump = fc.integer({ min: -1e7, max: 1e7 })
    checkProperty(
      fc.property(seconds(1e5), seconds(1e5), jump, fc.boolean(), (ran, later, jumpMs, before) => {
        const began = { uptime: 50, wallMs: 1e12 }
        const noticed = { uptime: 50 + ran + later, wallMs: 1e12 + (ran + later) * 1000 + jumpMs }
        const at = uptimeAt(1e12 + ran * 1000 + (before ? jumpMs : 0), began, noticed)
        expect(at).toBeGreaterThanOrEqual(50 + ran - 0.001)
        expect(at).toBeLessThanOrEqual(noticed.uptime)
      }),
    )
  })
})

test('what stands in the file of a job of Slurm', () => {
  const ended = 'began 5 n1\nran 100.25 103.50\nexit 0\n'
  expect(parseJobStatus(ended)).toMatchObject({ ranSeconds: 3.25, exitCode: 0, signalled: false, stopping: false })
  expect(parseJobStatus(`began 5 n1\nstopping\nran 1.00 2.00\nexit 143\n`)).toMatchObject({ stopping: true })
  expect(parseJobStatus(`${ended}signalled\n`)).toMatchObject({ signalled: false })
  expect(parseJobStatus(`began 5 n1\nsignalled\nexit 0\n`)).toMatchObject({ signalled: true, ranSeconds: null })
  for (const forged of ['ran 1e9 2', 'ran 1.00', 'ran $(id) 1.00', 'ran -1.00 2.00'])
    expect(parseJobStatus(`began 5 n1\n${forged}\nexit 0\n`).ranSeconds).toBeNull()
})

test('what stands in the file of a container', () => {
  expect(parseStatus('claimed ab\nbegan \nclocks 12.34 1700000000000\n').clocks).toEqual({
    uptime: 12.34,
    wallMs: 1_700_000_000_000,
  })
  expect(parseStatus('clocks 12.34\n').clocks).toBeNull()
})
