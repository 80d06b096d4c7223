import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SCHEDULE_QUEUE_MAX } from '../../src/domain/limits.ts'
import {
  admitRuns,
  type Candidate,
  createTimetable,
  cronFault,
  jitterOf,
  planRuns,
  REPLACED,
  type ScheduleOverlap,
  SKIPPED_FOR_EARLIER,
  SKIPPED_FOR_QUEUE,
  timeZoneOf,
  type Timing,
} from '../../src/domain/schedule.ts'
import { checkProperty } from '../support/seeds.ts'

describe('runs that overlap', () => {
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

  test('SKIP: one starts where no run is active, and no other', () => {
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

  test('CANCEL_OTHER: the newest waits for the end of the active run, which it requests once', () => {
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
})

describe('planned times', () => {
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

  test('a due run is made, and the next is planned', () => {
    expect(plan(at('12:00:00'), at('12:00:00.500'))).toEqual({
      runs: ['12:00:00'],
      missed: null,
      next: ['12:01:00', '12:01:00'],
    })
  })

  test('a run that is due at this very moment is made', () => {
    expect(plan(at('12:00:00'), at('12:00:00'))).toMatchObject({ runs: ['12:00:00'], next: ['12:01:00', '12:01:00'] })
  })

  test('a run that is not due stays planned', () => {
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

  test('after a year of seconds the work is bounded, and the runs are the same', () => {
    const timing: Timing = { cron: null, every: 1, timeZone: 'UTC', anchorAt: new Date('2025-06-01T00:00:00Z') }
    const { runs, missed, next } = plan(new Date('2025-06-01T00:00:01Z'), at('12:00:00'), { timing, catchUp: 2 })
    // Runs of the last minute are not late.
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
})

describe('timetables', () => {
  const NO_ANCHOR = { every: null, anchorAt: new Date(0) }

  function next(cron: string, timeZone: string, from: string, count: number): string[] {
    const timetable = createTimetable({ cron, timeZone, ...NO_ANCHOR })
    const times: string[] = []
    for (let time = timetable.after(new Date(from)); times.length < count; time = timetable.after(time!)) {
      times.push(time!.toISOString().slice(0, 16))
    }
    return times
  }

  test('of a restricted day and a restricted weekday, either is enough', () => {
    const days = next('0 3 13 * FRI', 'UTC', '2026-11-01T00:00Z', 5)
    expect(days).toEqual(['06', '13', '20', '27'].map((day) => `2026-11-${day}T03:00`).concat('2026-12-04T03:00'))
    expect(next('0 3 13 * MON', 'UTC', '2026-11-10T00:00Z', 3)).toEqual([
      '2026-11-13T03:00',
      '2026-11-16T03:00',
      '2026-11-23T03:00',
    ])
    expect(next('0 3 * * MON#1', 'UTC', '2026-11-10T00:00Z', 2)).toEqual(['2026-12-07T03:00', '2027-01-04T03:00'])
  })

  describe('when clocks go forward', () => {
    test('a time that does not exist comes right after the gap, on the same day', () => {
      // 02:00 to 03:00 is left out on 29 March.
      expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3)).toEqual([
        '2026-03-28T01:30',
        '2026-03-29T01:00',
        '2026-03-30T00:30',
      ])
      // 02:00 to 02:30 is left out on 4 October.
      expect(next('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T00:00:00Z', 3)).toEqual([
        '2026-10-02T15:45',
        '2026-10-03T15:30',
        '2026-10-04T15:15',
      ])
    })

    test('a schedule that runs all the time keeps its pace', () => {
      expect(next('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 4)).toEqual([
        '2026-03-29T00:30',
        '2026-03-29T01:00',
        '2026-03-29T01:30',
        '2026-03-29T02:00',
      ])
      expect(next('*/15 * * * *', 'Australia/Lord_Howe', '2026-10-03T15:00:00Z', 4)).toEqual([
        '2026-10-03T15:15',
        '2026-10-03T15:30',
        '2026-10-03T15:45',
        '2026-10-03T16:00',
      ])
    })
  })

  describe('when clocks go back', () => {
    test('a time that comes twice is the first of the two', () => {
      // 02:00 to 03:00 comes again on 25 October.
      expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-24T00:00:00Z', 3)).toEqual([
        '2026-10-24T00:30',
        '2026-10-25T00:30',
        '2026-10-26T01:30',
      ])
      expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual(['2026-10-26T01:30'])
      // 01:30 to 02:00 comes again on 5 April.
      expect(next('45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T00:00:00Z', 3)).toEqual([
        '2026-04-03T14:45',
        '2026-04-04T14:45',
        '2026-04-05T15:15',
      ])
    })

    test('also one of several in an expression', () => {
      expect(next('30 2,14 * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 3)).toEqual([
        '2026-10-25T00:30',
        '2026-10-25T13:30',
        '2026-10-26T01:30',
      ])
    })

    test('a schedule that runs all the time keeps its pace', () => {
      expect(next('15 * * * *', 'Europe/Berlin', '2026-10-24T23:30:00Z', 3)).toEqual([
        '2026-10-25T00:15',
        '2026-10-25T01:15',
        '2026-10-25T02:15',
      ])
      expect(next('*/15 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:00:00Z', 6)).toEqual([
        '2026-04-04T14:15',
        '2026-04-04T14:30',
        '2026-04-04T14:45',
        '2026-04-04T15:00',
        '2026-04-04T15:15',
        '2026-04-04T15:30',
      ])
    })
  })

  const EXPRESSIONS = ['*/15 * * * *', '30 2 * * *', '45 1 * * *', '15 2 * * *', '0 */2 * * *', '@daily', '5 1-3 * * *']
  const ZONES = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/New_York', 'Asia/Kathmandu']

  test('the last times up to a moment are those that come before it one after the other', () => {
    const moment = fc.date({ min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true })
    const changes = fc.constantFrom(
      ...['2026-03-29T01:20:00Z', '2026-10-25T01:40:00Z', '2026-10-03T15:50:00Z', '2026-04-04T15:40:00Z'].map(
        (text) => new Date(text),
      ),
    )
    checkProperty(
      fc.property(
        fc.constantFrom(...EXPRESSIONS),
        fc.constantFrom(...ZONES),
        fc.oneof(moment, changes),
        (cron, zone, at) => {
          const timetable = createTimetable({ cron, timeZone: zone, ...NO_ANCHOR })
          const last = timetable.upTo(at, 4)
          expect(last).toHaveLength(4)
          for (const [index, time] of last.entries()) {
            const following = timetable.after(time)!
            if (index < 3) expect(following).toEqual(last[index + 1])
            else expect(following.getTime()).toBeGreaterThan(at.getTime())
            expect(following.getTime()).toBeGreaterThan(time.getTime())
            expect(time.getTime()).toBeLessThanOrEqual(at.getTime())
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  test('an interval counts from its anchor, whatever clocks do', () => {
    const anchorAt = new Date('2026-03-28T23:00:00.500Z')
    const timetable = createTimetable({ cron: null, every: 5400, timeZone: 'Europe/Berlin', anchorAt })
    expect(timetable.after(anchorAt)).toEqual(new Date('2026-03-29T00:30:00.500Z'))
    expect(timetable.after(new Date('2026-03-29T00:30:00.500Z'))).toEqual(new Date('2026-03-29T02:00:00.500Z'))
    expect(timetable.upTo(new Date('2026-03-29T02:00:00.499Z'), 5)).toEqual([new Date('2026-03-29T00:30:00.500Z')])
    expect(timetable.upTo(anchorAt, 5)).toEqual([])
  })

  test.each([
    ['* * * * * *', 'must have five fields: minute, hour, day of month, month, day of week'],
    ['2026-05-01T00:00:00', 'must have five fields: minute, hour, day of month, month, day of week'],
    ['@reboot', 'must have five fields: minute, hour, day of month, month, day of week'],
    ['99 * * * *', 'Invalid value for minute: 99'],
    ['0 0 30 2 *', 'never comes'],
  ])('%s is refused', (expression, fault) => {
    expect(cronFault(expression, new Date('2026-01-01T00:00:00Z'))).toBe(fault)
  })

  test('names of time zones are known, offsets are none', () => {
    expect(['Europe/Berlin', 'UTC', '+02:00', 'Mars/Phobos', ''].map(timeZoneOf)).toEqual([
      'Europe/Berlin',
      'UTC',
      null,
      null,
      null,
    ])
  })
})
