import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkProperty } from '../../support/seeds.ts'
import {
  expectedEnd,
  failureLimit,
  formatIndexes,
  type GroupFacts,
  groupProgress,
  groupState,
  judgeGroup,
  parseIndexes,
} from '../../../src/domain/session/session-group.ts'

const NONE = { total: 10, live: 0, waiting: 0, succeeded: 0, failed: 0, cancelled: 0 }

function group(counts: Partial<GroupFacts['counts']>, more: Partial<GroupFacts> = {}): GroupFacts {
  const limits = { maxFailed: null, maxFailedPercent: null, minSucceeded: null }
  const nothing = { isOpen: false, cancelledBy: null, dependencyFailed: null, epoch: 0 }
  return { ...limits, counts: { ...NONE, ...counts }, ...nothing, ...more }
}

describe('the outcome of a group', () => {
  test.each([
    ['all succeeded', group({ succeeded: 10 }), 'SUCCEEDED'],
    ['one still runs', group({ succeeded: 9, live: 1 }), null],
    ['one waits for a retry', group({ succeeded: 9, waiting: 1 }), null],
    ['one failed, and others run', group({ live: 9, failed: 1 }), null],
    ['one failed', group({ succeeded: 9, failed: 1 }), 'FAILED'],
    ['one was cancelled', group({ succeeded: 9, cancelled: 1 }), 'CANCELLED'],
    ['it accepts more', group({ succeeded: 10 }, { isOpen: true }), null],
    ['it has no members', group({ total: 0 }), 'SUCCEEDED'],
    ['fewer failed than the limit', group({ live: 8, failed: 2 }, { maxFailed: 3 }), null],
    ['as many failed as the limit', group({ live: 7, failed: 3 }, { maxFailed: 3 }), 'FAILED'],
    ['some failed, below the limit', group({ succeeded: 8, failed: 2 }, { maxFailed: 3 }), 'SUCCEEDED'],
    ['none may fail, and none has', group({ live: 10 }, { maxFailed: 0 }), null],
    ['none may fail, and one has', group({ live: 9, failed: 1 }, { maxFailed: 0 }), 'FAILED'],
    ['a share failed', group({ live: 8, failed: 2 }, { maxFailedPercent: 20 }), 'FAILED'],
    ['a share of what is not complete', group({ live: 8, failed: 2 }, { maxFailedPercent: 20, isOpen: true }), null],
    ['enough succeeded', group({ succeeded: 3, live: 7 }, { minSucceeded: 3 }), 'SUCCEEDED'],
    ['enough can succeed', group({ succeeded: 2, live: 1, failed: 7 }, { minSucceeded: 3 }), null],
    ['too few can succeed', group({ succeeded: 1, live: 1, failed: 8 }, { minSucceeded: 3 }), 'FAILED'],
    ['what it waits for failed', group({ live: 10 }, { dependencyFailed: 'sweep' }), 'FAILED'],
    ['that, and a person resubmitted it', group({ live: 10 }, { dependencyFailed: 'sweep', epoch: 1 }), null],
    ['a person cancelled it', group({ live: 10 }, { cancelledBy: 'ann' }), 'CANCELLED'],
    ['members of a failed one run again', group({ live: 2, failed: 8 }, { maxFailed: 3, epoch: 1 }), null],
    ['they have ended again', group({ succeeded: 8, failed: 2 }, { maxFailed: 3, epoch: 1 }), 'SUCCEEDED'],
  ] as const)('%s', (_, given, outcome) => {
    const verdict = judgeGroup(given)
    expect(verdict?.outcome ?? null).toBe(outcome)
    if (verdict) expect(verdict.reason).toMatch(/\w/)
  })

  test('is always decided once nothing can change any more, and never while members may still change it', () => {
    const count = fc.nat({ max: 20 })
    const limit = fc.option(fc.nat({ max: 20 }))
    checkProperty(
      fc.property(
        fc.record({ live: count, waiting: count, succeeded: count, failed: count, cancelled: count }),
        fc.record({
          maxFailed: limit,
          maxFailedPercent: fc.option(fc.nat({ max: 100 })),
          minSucceeded: fc.option(fc.integer({ min: 1, max: 20 })),
        }),
        (counts, limits) => {
          const total = Object.values(counts).reduce((sum, each) => sum + each, 0)
          const verdict = judgeGroup(group({ ...counts, total }, limits))
          if (counts.live + counts.waiting === 0) expect(verdict).not.toBeNull()
          const isUnlimited = Object.values(limits).every((each) => each === null)
          if (isUnlimited && counts.live + counts.waiting > 0) expect(verdict).toBeNull()
        },
      ),
    )
  })
})

test('the limit is the smaller of the number and the share, and at least 1', () => {
  const limits = { maxFailed: null, maxFailedPercent: null, minSucceeded: null }
  expect(failureLimit(limits, 100)).toBeNull()
  expect(failureLimit({ ...limits, maxFailed: 7, maxFailedPercent: 5 }, 100)).toBe(5)
  expect(failureLimit({ ...limits, maxFailedPercent: 5 }, 1_010)).toBe(51)
  expect(failureLimit({ ...limits, maxFailedPercent: 0 }, 100)).toBe(1)
})

test('states and progress', () => {
  const at = new Date()
  expect(groupState({ isOpen: true, outcome: null, endedAt: null })).toBe('OPEN')
  expect(groupState({ isOpen: false, outcome: null, endedAt: null })).toBe('RUNNING')
  expect(groupState({ isOpen: true, outcome: 'FAILED', endedAt: null })).toBe('ENDING')
  expect(groupState({ isOpen: false, outcome: 'FAILED', endedAt: at })).toBe('FAILED')
  expect(groupProgress({ ...NONE, total: 0 })).toBe(0)
  expect(groupProgress({ ...NONE, succeeded: 3, failed: 1, cancelled: 1 })).toBe(0.5)
})

describe('indexes', () => {
  test.each([
    ['1-4', [1, 2, 3, 4]],
    ['0-20:10', [0, 10, 20]],
    [' 5, 1-2 ,2', [1, 2, 5]],
    ['7', [7]],
  ])('%s', (text, indexes) => {
    expect(parseIndexes(text, 100)).toEqual(indexes)
  })

  test.each(['', '1-', 'a', '4-1', '1-4:0', '-3', '1-101', '0-99999999', '1,2-', '1-999999999999', '9999999999'])(
    '%j is refused',
    (text) => {
      expect(parseIndexes(text, 100)).toEqual(expect.any(String))
    },
  )
})

describe('the expected end', () => {
  const now = new Date('2026-11-23T12:00:00Z')
  const startedAt = new Date('2026-11-23T11:50:00Z')
  const minutes = (facts: GroupFacts, more: object = {}) => {
    const end = expectedEnd(facts, { startedAt, outcome: null, now, ...more })
    return end && (end.getTime() - now.getTime()) / 60_000
  }

  test.each([
    ['half has ended', group({ succeeded: 4, failed: 1, live: 5 }), 10],
    ['a part waits for retries', group({ succeeded: 5, live: 3, waiting: 2 }), 10],
    ['only a part is needed', group({ succeeded: 5, live: 5 }, { minSucceeded: 6 }), 2],
    ['failures delay what is needed', group({ total: 20, succeeded: 5, failed: 5, live: 10 }, { minSucceeded: 6 }), 2],
    [
      'what is needed is more than what is left',
      group({ succeeded: 5, failed: 2, live: 3 }, { minSucceeded: 9 }),
      4.2857,
    ],
    ['too few have ended', group({ succeeded: 4, live: 6 }), null],
    ['a too small share has ended', group({ total: 1_000, succeeded: 9, live: 991 }), null],
    ['a cancelled member tells no rate', group({ succeeded: 4, cancelled: 3, live: 3 }), null],
    ['all others wait for retries', group({ succeeded: 8, waiting: 2 }), null],
    ['it accepts more', group({ succeeded: 9, live: 1 }, { isOpen: true }), null],
    ['a person cancelled it', group({ succeeded: 9, live: 1 }, { cancelledBy: 'ann' }), null],
    ['it was reopened', group({ succeeded: 9, live: 1 }, { epoch: 1 }), null],
  ])('%s', (_name, facts, expected) => expect(minutes(facts)).toBe(expected))

  test('it has not started, or its outcome is decided', () => {
    const facts = group({ succeeded: 5, live: 5 })
    expect([minutes(facts, { startedAt: null }), minutes(facts, { outcome: 'FAILED' })]).toEqual([null, null])
  })
})

test('formatted indexes are parsed to the same', () =>
  checkProperty(
    fc.property(fc.uniqueArray(fc.nat(60), { minLength: 1 }), (given) => {
      const indexes = given.toSorted((a, b) => a - b)
      expect(parseIndexes(formatIndexes(indexes), 100)).toEqual(indexes)
    }),
  ))
