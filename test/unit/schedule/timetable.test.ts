/** Planned times, where the clocks of the world are not regular. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTimetable, cronFault, timeZoneOf } from '../../../src/domain/schedule.ts'
import { checkProperty } from '../../support/seeds.ts'

const NO_ANCHOR = { every: null, anchorAt: new Date(0) }

function next(cron: string, timeZone: string, from: string, count: number): string[] {
  const timetable = createTimetable({ cron, timeZone, ...NO_ANCHOR })
  const times: string[] = []
  for (let time = timetable.after(new Date(from)); times.length < count; time = timetable.after(time!)) {
    times.push(time!.toISOString().slice(0, 16))
  }
  return times
}

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

  test('what runs all the time goes on at its pace', () => {
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

  test('what runs all the time goes on at its pace', () => {
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
