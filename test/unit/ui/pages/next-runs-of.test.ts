import { describe, expect, test } from 'vitest'
import { createTimetable } from '../../../../src/domain/schedule.ts'
import { nextRunsOf } from '../../../../src/ui/pages/new-session/timing.ts'

const NOW = Date.UTC(2026, 2, 27, 12, 0, 30)

describe('the next runs that a form draws', () => {
  test.each([
    ['30 2 * * *', 'Europe/Berlin'],
    ['*/15 * * * *', 'Europe/Berlin'],
    ['0 0 29 2 *', 'UTC'],
    ['15 10 L * *', 'Asia/Kolkata'],
    ['0 9 * * MON#2', 'America/New_York'],
    [' @weekly ', 'Pacific/Auckland'],
  ])('are those that the server plans: %s in %s', (cron, timeZone) => {
    const timetable = createTimetable({ cron, every: null, timeZone, anchorAt: new Date(NOW) })
    const planned: number[] = []
    for (let time = timetable.after(new Date(NOW)); planned.length < 12; time = timetable.after(time!))
      planned.push(time!.getTime())
    expect(nextRunsOf({ cron, timeZone }, NOW, 12)).toEqual({ times: planned })
  })

  test('of an interval are counted from its creation', () => {
    expect(nextRunsOf({ every: 90 }, NOW, 2)).toEqual({ times: [NOW + 90_000, NOW + 180_000] })
  })

  test.each([
    ['0 30 2 * * *', 'UTC', 'cron'],
    ['2026-11-23T10:00:00', 'UTC', 'cron'],
    ['61 * * * *', 'UTC', 'cron'],
    ['0 0 31 2 *', 'UTC', 'cron'],
    ['', 'UTC', 'cron'],
    ['@daily', '+02:00', 'timeZone'],
    ['@daily', 'Europe/Nowhere', 'timeZone'],
  ])('are none of %j in %s', (cron, timeZone, field) => {
    expect(nextRunsOf({ cron, timeZone }, NOW, 2)).toMatchObject({ field })
  })
})
