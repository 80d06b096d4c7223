/** Which planned times are made, and which are missed. */
import { expect, test } from 'vitest'
import { createTimetable, planRuns, type Timing } from '../../../src/domain/schedule.ts'

const at = (text: string) => new Date(`2026-06-01T${text}Z`)
const EVERY_MINUTE: Timing = { cron: '* * * * *', every: null, timeZone: 'UTC', anchorAt: at('00:00:00') }

function plan(plannedAt: Date, now: Date, options: { catchUp?: number; delay?: number; timing?: Timing } = {}) {
  const { catchUp = 1, delay = 0, timing = EVERY_MINUTE } = options
  const timetable = createTimetable(timing)
  const { runs, missed, next } = planRuns({ timetable, plannedAt, now, catchUp, delayOf: () => delay })
  const short = (time: Date) => time.toISOString().slice(11, 19)
  return {
    runs: runs.map(short),
    missed: missed && [short(missed.from), short(missed.to), missed.count, missed.more],
    next: next && [short(next.plannedAt), short(next.dueAt)],
  }
}

test('what is due is made, and the next is planned', () => {
  expect(plan(at('12:00:00'), at('12:00:00.500'))).toEqual({
    runs: ['12:00:00'],
    missed: null,
    next: ['12:01:00', '12:01:00'],
  })
})

test('what is due at this very moment is made', () => {
  expect(plan(at('12:00:00'), at('12:00:00'))).toMatchObject({ runs: ['12:00:00'], next: ['12:01:00', '12:01:00'] })
})

test('what is not due stays planned', () => {
  expect(plan(at('12:00:00'), at('11:59:59'), { delay: 10 })).toEqual({
    runs: [],
    missed: null,
    next: ['12:00:00', '12:00:10'],
  })
})

test('jitter delays a run, and counts for whether it is late', () => {
  expect(plan(at('12:00:00'), at('12:01:20'), { delay: 30 })).toEqual({
    runs: ['12:00:00'],
    missed: null,
    next: ['12:01:00', '12:01:30'],
  })
})

test.each([
  [0, ['12:09:00'], ['12:00:00', '12:08:00', 9, false]],
  [1, ['12:08:00', '12:09:00'], ['12:00:00', '12:07:00', 8, false]],
  [3, ['12:06:00', '12:07:00', '12:08:00', '12:09:00'], ['12:00:00', '12:05:00', 6, false]],
  [100, Array.from({ length: 10 }, (_, minute) => `12:0${minute}:00`), null],
])('after a downtime the last %i of the late ones are made', (catchUp, runs, missed) => {
  expect(plan(at('12:00:00'), at('12:09:30'), { catchUp })).toEqual({ runs, missed, next: ['12:10:00', '12:10:00'] })
})

test('after a year of seconds the work is bounded, and what is made is the same', () => {
  const timing: Timing = { cron: null, every: 1, timeZone: 'UTC', anchorAt: new Date('2025-06-01T00:00:00Z') }
  const { runs, missed, next } = plan(new Date('2025-06-01T00:00:01Z'), at('12:00:00'), { timing, catchUp: 2 })
  // Those of the last minute are not late.
  expect(runs).toHaveLength(63)
  expect([runs.at(0), runs.at(-1)]).toEqual(['11:58:58', '12:00:00'])
  expect(missed).toEqual(['00:00:01', '11:58:57', 101, true])
  expect(next).toEqual(['12:00:01', '12:00:01'])
})

test('after a year of minutes, too', () => {
  const { runs, missed, next } = plan(new Date('2025-06-01T00:00:00Z'), at('12:00:30'), { catchUp: 2 })
  expect(runs).toEqual(['11:58:00', '11:59:00', '12:00:00'])
  expect([missed?.[0], missed?.[1], missed?.[3]]).toEqual(['00:00:00', '11:57:00', true])
  expect(next).toEqual(['12:01:00', '12:01:00'])
})
