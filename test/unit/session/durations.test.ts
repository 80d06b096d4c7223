import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationsOf } from '../../../src/domain/session/statistics.ts'
import { type SessionStatus, STATUSES } from '../../../src/domain/session/lifecycle.ts'
import { checkProperty } from '../../support/seeds.ts'

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000)
const steps = (...pairs: [SessionStatus, number][]) => pairs.map(([to, seconds]) => ({ to, at: at(seconds) }))

test.each([
  ['waits', null, null, [], { queued: 100, preparing: 0, running: 0, ending: 0 }],
  ['was never started', null, 7, steps(['CANCELLED', 7]), { queued: 7, preparing: 0, running: 0, ending: 0 }],
  [
    'has run',
    4,
    20,
    steps(['SCHEDULED', 2], ['PREPARING', 2], ['RUNNING', 4], ['TERMINATING', 15], ['TERMINATED', 20]),
    { queued: 2, preparing: 2, running: 11, ending: 5 },
  ],
  [
    'was placed twice',
    9,
    null,
    steps(['SCHEDULED', 2], ['PENDING', 3], ['SCHEDULED', 8], ['RUNNING', 9]),
    { queued: 7, preparing: 2, running: 91, ending: 0 },
  ],
  [
    'ran before that was noticed, all at once',
    3,
    20,
    steps(['SCHEDULED', 2], ['RUNNING', 20], ['TERMINATING', 20], ['TERMINATED', 20]),
    { queued: 2, preparing: 1, running: 17, ending: 0 },
  ],
] as const)('a session that %s', (_what, startedAt, terminatedAt, changes, expected) => {
  const times = {
    createdAt: at(0),
    startedAt: startedAt === null ? null : at(startedAt),
    terminatedAt: terminatedAt === null ? null : at(terminatedAt),
  }
  expect(durationsOf(times, [...changes], at(100))).toEqual(expected)
})

test('they are never negative, and together the age, in whatever order clocks stamped the changes', () => {
  const second = fc.integer({ min: 0, max: 1_000 })
  const changes = fc.array(fc.record({ to: fc.constantFrom(...STATUSES), at: second.map(at) }), { maxLength: 12 })
  const terminal = new Set<SessionStatus>(['TERMINATED', 'ERROR', 'CANCELLED'])
  checkProperty(
    fc.property(changes, fc.option(second), second, (some, startedAt, age) => {
      const lives = some.filter(({ to }) => !terminal.has(to))
      const times = { createdAt: at(0), startedAt: startedAt === null ? null : at(startedAt), terminatedAt: at(age) }
      const durations = Object.values(durationsOf(times, lives, at(2_000)))
      for (const each of durations) expect(each).toBeGreaterThanOrEqual(0)
      expect(durations.reduce((sum, each) => sum + each, 0)).toBeCloseTo(age, 6)
    }),
  )
})
