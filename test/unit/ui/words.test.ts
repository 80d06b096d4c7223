import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createTimetable } from '../../../src/domain/schedule.ts'
import { filterInWords } from '../../../src/ui/bulk/filter-words.ts'
import { readChainSearch } from '../../../src/ui/pages/chain/chain-search.ts'
import { differenceWords } from '../../../src/ui/pages/chain/spec-words.ts'
import { nextRunsOf } from '../../../src/ui/pages/new-session/timing.ts'
import {
  amountWords,
  bytes,
  count,
  counted,
  memoryWords,
  percentage,
  readSlots,
  roughAmount,
  slotWords,
} from '../../../src/ui/words/numbers.ts'
import { countdown, duration, momentsIn, relativeMoment, shortDuration } from '../../../src/ui/words/time.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('words', () => {
  /** Replaces special spaces by ordinary ones, and the thin one by `'`. */
  function plain(text: string): string {
    return text.replaceAll('\u00a0', ' ').replaceAll('\u202f', "'")
  }

  test.each([
    [null, ['named one by one']],
    [{ chains: { state: ['FAILED', 'HELD'], timedOut: true } }, ['failed or held', 'timed out']],
    [{ chains: { label: { key: 'team', value: 'cms' } } }, ['team=cms']],
    [
      {
        chains: {
          labels: [
            { key: 'team', equals: 'cms' },
            { key: 'site', in: ['a', 'b'] },
            { key: 'old', exists: false },
          ],
        },
      },
      ['team=cms', 'site=a or b', 'without old'],
    ],
    [{ failureCause: ['OOM_KILLED'], exitCode: [1, 137] }, ['out of memory', 'exit code 1 or 137']],
    [{ attempt: { gte: 2, lt: 5 }, name: { startsWith: 'night' } }, ['attempt ≥ 2 and < 5', 'name begins with night']],
    [{ startedAt: { gte: '2026-01-31T12:04:00Z' }, project: null }, ['started since 2026-01-31 12:04 UTC']],
    [{ chains: { holdReason: ['DISABLED'], resourceGroup: 'gpu' } }, ['held: retries are switched off', 'group gpu']],
    [
      { OR: [{ project: 'a' }, { status: ['PENDING'], maxRetries: { gt: 0 } }] },
      ['(project a) or (pending, max retries > 0)'],
    ],
    [{ chains: { failed: { exitCode: [3] } } }, ['an attempt failed: (exit code 3)']],
  ])('of what selected sessions: %j', (filter, words) => {
    expect(filterInWords(filter)).toEqual(words)
  })

  test.each([
    [0, '0 B'],
    [1000, '1000 B'],
    [1024, '1 KiB'],
    [1_120_000, '1.1 MiB'],
    [64 * 1024 ** 3, '64 GiB'],
    [1024 ** 2 - 1, '1 MiB'],
  ])('memory of %d bytes', (value, words) => {
    expect(plain(memoryWords(value))).toBe(words)
  })

  describe('durations', () => {
    test.each([
      [0, '0 s', '0 s'],
      [-3, '0 s', '0 s'],
      [0.003, '< 0.1 s', '< 0.1 s'],
      [0.05, '0.1 s', '0.1 s'],
      [0.3, '0.3 s', '0.3 s'],
      [3, '3 s', '3 s'],
      [3.44, '3.4 s', '3.4 s'],
      [9.97, '9.9 s', '9.9 s'],
      [10, '10 s', '10 s'],
      [16.9, '16 s', '16 s'],
      [59.9, '59 s', '59 s'],
      [60, '1 m', '1 m'],
      [125, '2 m', '2 m 5 s'],
      [3599, '59 m', '59 m 59 s'],
      [3605, '1 h', '1 h'],
      [8040, '2 h', '2 h 14 m'],
      [86_400, '1 d', '1 d'],
      [273_600, '3 d', '3 d 4 h'],
      [40_000_000, '462 d', '462 d 23 h'],
    ])('%d s', (seconds, short, long) => {
      expect(plain(shortDuration(seconds))).toBe(short)
      expect(plain(duration(seconds))).toBe(long)
    })

    test.each([
      [-1, '0:00'],
      [0, '0:00'],
      [0.2, '0:01'],
      [6, '0:06'],
      [59.01, '1:00'],
      [725, '12:05'],
      [3600, '1:00:00'],
      [8047, '2:14:07'],
      [86_399.5, '1 d'],
      [273_600, '3 d 4 h'],
    ])('%d s to go', (seconds, wanted) => {
      expect(plain(countdown(seconds))).toBe(wanted)
    })

    test('a longer one never shows as a shorter one', () => {
      const seconds = fc.double({ min: 0, max: 1e8, noNaN: true })
      checkProperty(
        fc.property(seconds, seconds, (a, b) => {
          const [less, more] = [Math.min(a, b), Math.max(a, b)]
          expect(secondsOf(duration(less))).toBeLessThanOrEqual(secondsOf(duration(more)))
          expect(secondsOf(shortDuration(less))).toBeLessThanOrEqual(secondsOf(shortDuration(more)))
        }),
      )
    })
  })

  function secondsOf(text: string): number {
    const sizes: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
    const parts = plain(text)
      .replace('< 0.1', '0.01')
      .matchAll(/([\d.]+) ([smhd])/g)
    return [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * sizes[unit!]!, 0)
  }

  describe('moments', () => {
    const at = Date.UTC(2026, 10, 3, 23, 4, 9)
    afterEach(() => vi.unstubAllEnvs())

    /** The formats on a machine in that zone. */
    function localIn(name: string) {
      vi.stubEnv('TZ', name)
      return momentsIn('local')
    }

    test.each([
      ['UTC', 'UTC', 0],
      ['Europe/Berlin', '+01:00', 60],
      ['America/St_Johns', '-03:30', -210],
      ['Europe/London', '+00:00', 0],
    ])('of %s show that it is %s', (name, zone, offset) => {
      const moments = localIn(name)
      expect([moments.zone(at), moments.offsetMinutes(at)]).toEqual([zone, offset])
    })

    test('show their time zone', () => {
      expect(momentsIn('UTC').absolute(at)).toBe('2026-11-03 23:04:09 UTC')
      expect(localIn('Europe/Berlin').absolute(at)).toBe('2026-11-04 00:04:09 +01:00')
      expect(localIn('America/St_Johns').absolute(at)).toBe('2026-11-03 19:34:09 -03:30')
      expect(localIn('Europe/London').absolute(at)).toBe('2026-11-03 23:04:09 +00:00')
    })

    test("use the zone's offset of their day", () => {
      const { absolute } = localIn('Europe/Berlin')
      expect(absolute(Date.UTC(2026, 9, 25, 0, 30))).toBe('2026-10-25 02:30:00 +02:00')
      expect(absolute(Date.UTC(2026, 9, 25, 1, 30))).toBe('2026-10-25 02:30:00 +01:00')
    })

    test('in parts', () => {
      const { clock, minute, day } = localIn('Asia/Tokyo')
      expect([clock(at), minute(at), day(at)]).toEqual(['08:04:09', '08:04', '4 Nov'])
    })

    test.each([
      [0, 'now'],
      [999, 'now'],
      [-999, 'now'],
      [1000, 'in 1 s'],
      [-1900, '1 s ago'],
      [6 * 60_000, 'in 6 m'],
      [-7_300_000, '2 h ago'],
      [-3 * 86_400_000, '3 d ago'],
    ])('%d ms from now', (difference, wanted) => {
      expect(plain(relativeMoment(at + difference, at))).toBe(wanted)
    })
  })

  describe('counts', () => {
    test.each([
      [0, '0'],
      [999, '999'],
      [1204, "1'204"],
      [21_102, "21'102"],
      [1_000_000, "1'000'000"],
      [-4321, "\u22124'321"],
    ])('%d', (value, wanted) => {
      expect(plain(count(value))).toBe(wanted)
    })

    test.each([
      [1, 'attempt', undefined, '1 attempt'],
      [0, 'attempt', undefined, '0 attempts'],
      [1500, 'retry', 'retries', "1'500 retries"],
    ])('%d %s', (value, noun, plural, wanted) => {
      expect(plain(counted(value, noun, plural))).toBe(wanted)
    })

    test.each([
      [0, '0 B'],
      [999, '999 B'],
      [1000, '1.0 kB'],
      [9949, '9.9 kB'],
      [9960, '10 kB'],
      [999_499, '999 kB'],
      [999_600, '1.0 MB'],
      [7_900_000, '7.9 MB'],
      [2 ** 60, '1153 PB'],
    ])('%d bytes', (value, wanted) => {
      expect(plain(bytes(value))).toBe(wanted)
    })

    test.each([
      [0, 0, '0 %'],
      [0, 9, '0 %'],
      [1, 1000, '1 %'],
      [999, 1000, '99 %'],
      [1000, 1000, '100 %'],
      [5, 7, '71 %'],
    ])('%d of %d', (part, whole, wanted) => {
      expect(plain(percentage(part, whole))).toBe(wanted)
    })
  })
})

describe('slots', () => {
  test.each([
    ['cpu', '8', '8'],
    ['cpu', '0.5', '0.5'],
    ['mem', '68719476736', '64g'],
    ['mem', '1536', '1536'],
    ['mem', '0', '0'],
    ['mem', '1099511627776', '1t'],
  ])('%s %s is typed as %s', (slot, amount, words) => {
    expect(slotWords(slot, amount)).toBe(words)
  })

  test('pairs are read in any notation; one without an amount is kept, for the server to refuse', () => {
    expect(readSlots('cpu 8, mem=64g\ncuda.device: 2,,lots')).toEqual([
      { slot: 'cpu', amount: '8' },
      { slot: 'mem', amount: '64g' },
      { slot: 'cuda.device', amount: '2' },
      { slot: 'lots', amount: '' },
    ])
  })
})

describe('chains', () => {
  describe('the address of a chain', () => {
    test('is parsed', () => {
      const search = { attempt: 5, tab: 'decision', scale: true, from: 1000, to: 2000, line: 420 }
      expect(readChainSearch(search)).toEqual(search)
    })

    test.each<[string, Record<string, unknown>]>([
      ['no number', { attempt: 'x', line: Infinity }],
      ['no count', { attempt: 0, line: 1.5 }],
      ['no tab', { tab: 'wires' }],
      ['the tab that it has anyway', { tab: 'logs' }],
      ['a range that ends before it begins', { from: 2000, to: 1000 }],
      ['half a range', { from: 1000 }],
    ])('is read without %s', (_, search) => {
      expect(readChainSearch(search)).toEqual({})
    })
  })

  describe('changes', () => {
    test.each([
      ['mem', '8589934592', '8g'],
      ['mem', '104857600', '100m'],
      ['mem', '1536', '1.5k'],
      ['mem', '1000', '1000'],
      ['cpu', '1.5', '1.5'],
    ])('%s of %s', (slot, amount, wanted) => {
      expect(amountWords(slot, amount)).toBe(wanted)
    })

    test.each([
      ['mem', '1073741824', '1g'],
      ['mem', '1250000000', '1.16g'],
      ['mem', '0', '0'],
      ['cpu', '0.30000001', '0.3'],
      ['cpu', '2048', '2048'],
    ])('%s of %s, roughly', (slot, amount, wanted) => {
      expect(roughAmount(slot, amount)).toBe(wanted)
    })

    test.each([
      [{ field: 'resourceSlots.mem', before: '4294967296', after: '8589934592' }, 'mem 4g to 8g'],
      [{ field: 'gpus.memory', before: '42949672960', after: '85899345920' }, 'GPU memory 40g to 80g'],
      [{ field: 'gpus.model', before: null, after: 'a100' }, 'GPU model = a100'],
      [{ field: 'environ.LR', before: null, after: '0.1' }, 'LR = 0.1'],
      [{ field: 'environ.LR', before: '0.1', after: null }, 'without LR'],
      [{ field: 'priority', before: '10', after: '77' }, 'priority 10 to 77'],
    ])('%j', (difference, wanted) => {
      expect(differenceWords(difference)).toBe(wanted)
    })
  })
})

describe('the next runs of a schedule', () => {
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
})
