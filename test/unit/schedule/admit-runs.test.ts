/** What overlap makes of runs. */
import { expect, test } from 'vitest'
import { SCHEDULE_QUEUE_MAX } from '../../../src/domain/limits.ts'
import {
  admitRuns,
  type Candidate,
  jitterOf,
  REPLACED,
  type ScheduleOverlap,
  SKIPPED_FOR_EARLIER,
  SKIPPED_FOR_QUEUE,
} from '../../../src/domain/schedule.ts'

const runs = (first: number, count: number, queued = false): Candidate[] =>
  Array.from({ length: count }, (_, index) => ({
    plannedAt: new Date((first + index) * 1000),
    queuedId: queued ? `queued ${first + index}` : null,
  }))

function admit(overlap: ScheduleOverlap, open: boolean, waiting: Candidate[], due: Candidate[]) {
  const { start, wait, skip, cancelOther } = admitRuns({ overlap, open, waiting, due })
  const second = ({ plannedAt }: Candidate) => plannedAt.getTime() / 1000
  return {
    start: start && second(start),
    wait: wait.map(second),
    skip: skip.map(({ run, reason }) => [second(run), reason]),
    cancelOther,
  }
}

test('nothing is due', () => {
  expect(admit('CANCEL_OTHER', true, [], [])).toEqual({ start: null, wait: [], skip: [], cancelOther: false })
})

test.each(['SKIP', 'QUEUE', 'CANCEL_OTHER'] as const)('%s: a run on its own starts', (overlap) => {
  expect(admit(overlap, false, [], runs(1, 1))).toEqual({ start: 1, wait: [], skip: [], cancelOther: false })
})

test('SKIP: one starts where nothing goes on, and no other', () => {
  expect(admit('SKIP', false, [], runs(1, 2))).toMatchObject({ start: 1, skip: [[2, SKIPPED_FOR_EARLIER]] })
  expect(admit('SKIP', true, [], runs(1, 1))).toMatchObject({ start: null, skip: [[1, SKIPPED_FOR_EARLIER]] })
})

test('SKIP: runs that wait since the schedule was another still come', () => {
  expect(admit('SKIP', false, runs(1, 2, true), runs(3, 1))).toMatchObject({
    start: 1,
    wait: [2],
    skip: [[3, SKIPPED_FOR_EARLIER]],
  })
})

test('QUEUE: the one that has waited longest starts, the others wait, and no more than fit', () => {
  expect(admit('QUEUE', false, runs(1, 2, true), runs(3, 1))).toMatchObject({ start: 1, wait: [2, 3], skip: [] })
  const full = admit('QUEUE', true, runs(1, SCHEDULE_QUEUE_MAX - 1, true), runs(1000, 3))
  expect(full).toMatchObject({
    start: null,
    skip: [
      [1001, SKIPPED_FOR_QUEUE],
      [1002, SKIPPED_FOR_QUEUE],
    ],
  })
  expect(full.wait).toHaveLength(SCHEDULE_QUEUE_MAX)
})

test('CANCEL_OTHER: the newest waits for the end of what goes on, which it asks for once', () => {
  expect(admit('CANCEL_OTHER', true, runs(1, 1, true), runs(2, 2))).toEqual({
    start: null,
    wait: [3],
    skip: [
      [1, REPLACED],
      [2, REPLACED],
    ],
    cancelOther: true,
  })
  expect(admit('CANCEL_OTHER', true, runs(1, 1, true), [])).toMatchObject({ wait: [1], cancelOther: false })
  expect(admit('CANCEL_OTHER', false, runs(1, 1, true), [])).toMatchObject({ start: 1, wait: [] })
})

test('jitter is within its bound, the same each time, and spread', () => {
  const delays = Array.from({ length: 500 }, (_, index) => jitterOf('a', new Date(index * 60_000), 600))
  expect(delays).toEqual(Array.from({ length: 500 }, (_, index) => jitterOf('a', new Date(index * 60_000), 600)))
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...delays)).toBeLessThanOrEqual(600)
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
  expect(mean).toBeGreaterThan(250)
  expect(mean).toBeLessThan(350)
  expect(jitterOf('b', new Date(0), 600)).not.toBe(jitterOf('a', new Date(0), 600))
  expect(jitterOf('a', new Date(0), 0)).toBe(0)
})
