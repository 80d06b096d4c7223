import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { RANGES, type RangeWord, sinceOf, spanOf } from '../../../../src/ui/app/list/time-range.ts'
import { causesOf, labelsOf, spanWords, stacksOf, ticksOf } from '../../../../src/ui/charts/cause-stacks.ts'
import { timelineOf } from '../../../../src/ui/timeline/bars.ts'
import {
  createScale,
  panned,
  panTo,
  type Scale,
  seenOf,
  stretchesOf,
  zoomed,
} from '../../../../src/ui/timeline/scale.ts'
import { momentsIn } from '../../../../src/ui/words/time.ts'
import { checkProperty } from '../../../support/seeds.ts'
import { anySegments, segmentsOf, START } from './timelines.ts'

describe('the elastic scale', () => {
  const width = fc.integer({ min: 1, max: 100_000 })
  const stretches = anySegments(40).map(({ segments, now }) => stretchesOf(timelineOf(segments, now)))

  /** `10 run`, `28 cut`: pixels, rounded. */
  function outline({ pieces }: Scale): string[] {
    return pieces.map((piece) => `${Math.round(piece.width)} ${piece.isCut ? 'cut' : piece.isWait ? 'wait' : 'run'}`)
  }

  describe('the elastic scale', () => {
    const { segments, end } = segmentsOf([
      { running: 5000, backoff: 10_000 },
      { queued: 1000, preparing: 1000, running: 4000, resubmission: 3_600_000 },
      { running: 5000, cause: null },
    ])
    const timeline = timelineOf(segments, end)

    test('cuts waits of more than four runs, and nothing else', () => {
      expect(outline(createScale(stretchesOf(timeline), 1028 + 520, true))).toEqual([
        '292 run',
        '585 wait',
        '58 wait',
        '292 run',
        '28 cut',
        '292 run',
      ])
    })

    test('in true time cuts nothing', () => {
      const scale = createScale(stretchesOf(timeline), 1000, false)
      expect(scale.pieces.every(({ isCut }) => !isCut)).toBe(true)
      expect(scale.x(START + (end - START) / 2)).toBeCloseTo(500, 9)
    })

    test('cuts are narrower where there are many of them', () => {
      const many = segmentsOf(Array.from({ length: 100 }, () => ({ running: 1000, backoff: 60_000 })))
      const { pieces } = createScale(stretchesOf(timelineOf(many.segments, many.end)), 1000, true)
      const cuts = pieces.filter(({ isCut }) => isCut)
      expect(cuts).toHaveLength(100)
      expect(cuts.every((cut) => Math.abs(cut.width - 5) < 1e-9)).toBe(true)
    })

    test('a long wait for an agent is also cut', () => {
      const queued = segmentsOf([
        { running: 1000, backoff: 1000 },
        { queued: 3_600_000, running: 1000 },
      ])
      const scale = createScale(stretchesOf(timelineOf(queued.segments, queued.end)), 328, true)
      expect(outline(scale)).toEqual(['100 run', '100 wait', '28 cut', '100 run'])
    })

    test('up to the planned retry is one wait with its elapsed part, and the retry is as long as the median run', () => {
      const waiting = segmentsOf([{ running: 5000, backoff: 2000 }], { open: true, due: 3000 })
      const all = stretchesOf(timelineOf(waiting.segments, waiting.end))
      expect(all.map(({ from, to, isWait }) => [to - from, isWait])).toEqual([
        [5000, false],
        [5000, true],
        [5000, false],
      ])
    })

    test('attempts without duration share the width', () => {
      const scale = createScale([{ from: START, to: START, isWait: true }], 500, true)
      expect(scale.pieces).toEqual([{ from: START, to: START, isWait: true, isCut: false, x: 0, width: 500 }])
      expect(createScale([], 500, true).x(START)).toBe(0)
    })

    test.each([true, false])(
      'widths add up to the width, without gap or overlap, in order (elastic: %s)',
      (elastic) => {
        checkProperty(
          fc.property(stretches, width, (all, px) => {
            const { pieces } = createScale(all, px, elastic)
            let edge = 0
            for (const piece of pieces) {
              expect(piece.x).toBeCloseTo(edge, 6)
              expect(piece.width).toBeGreaterThanOrEqual(0)
              edge = piece.x + piece.width
            }
            if (pieces.length > 0) expect(edge).toBeCloseTo(px, 6)
            expect(pieces.map(({ from, to, isWait }) => ({ from, to, isWait }))).toEqual(all)
          }),
        )
      },
    )

    test.each([true, false])('is monotonic, and its inverse is exact (elastic: %s)', (elastic) => {
      checkProperty(
        fc.property(stretches, width, fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (all, px, places) => {
          const scale = createScale(all, px, elastic)
          const [from, to] = [all[0]?.from ?? 0, all.at(-1)?.to ?? 0]
          const moments = places.map((place) => from + (to - from) * place).toSorted((a, b) => a - b)
          const xs = moments.map((at) => scale.x(at))
          expect(xs).toEqual(xs.toSorted((a, b) => a - b))
          for (const x of xs) {
            expect(x).toBeGreaterThanOrEqual(0)
            expect(x).toBeLessThanOrEqual(px + 1e-6)
            expect(scale.x(scale.at(x))).toBeCloseTo(x, 3)
          }
          for (const [index, at] of moments.entries()) {
            const piece = scale.pieces.find((each) => at < each.to)
            const perPixel = piece === undefined ? 0 : (piece.to - piece.from) / piece.width
            if (Number.isFinite(perPixel)) expect(Math.abs(scale.at(xs[index]!) - at)).toBeLessThan(1 + perPixel * 1e-6)
          }
        }),
      )
    })

    test('runs keep their proportions, and only waits are cut', () => {
      checkProperty(
        fc.property(stretches, width, (all, px) => {
          const { pieces } = createScale(all, px, true)
          const whole = pieces.filter((piece) => !piece.isCut && piece.to > piece.from)
          const rates = whole.map((piece) => piece.width / (piece.to - piece.from))
          for (const rate of rates) expect(rate / rates[0]!).toBeCloseTo(1, 2)
          expect(pieces.filter(({ isCut, isWait }) => isCut && !isWait)).toEqual([])
          for (const cut of pieces.filter(({ isCut }) => isCut)) expect(cut.width).toBeLessThanOrEqual(28 + 1e-9)
        }),
      )
    })
  })
})

describe('the range in view', () => {
  const WIDTH = 1000
  const anyChain = anySegments(30)
    .filter(({ segments }) => segments.some(({ from, to }) => to !== null && to - from > 1000))
    .map(({ segments, now }) => stretchesOf(timelineOf(segments, now)))
  const place = fc.double({ min: 0, max: 1, noNaN: true })
  const factor = fc.double({ min: 1.05, max: 40, noNaN: true })

  test('without a range, everything is visible', () => {
    checkProperty(
      fc.property(anyChain, fc.boolean(), (stretches, elastic) => {
        expect(seenOf(stretches, WIDTH, elastic, null)).toMatchObject({ offset: 0, scale: { width: WIDTH } })
      }),
    )
  })

  test('zooming keeps the point under the pointer, and an address restores the zoomed range', () => {
    checkProperty(
      fc.property(anyChain, fc.boolean(), place, factor, (stretches, elastic, at, by) => {
        const all = seenOf(stretches, WIDTH, elastic, null)
        const range = zoomed(stretches, elastic, all, by, at * WIDTH)
        const seen = seenOf(stretches, WIDTH, elastic, range)
        const moment = all.scale.at(at * WIDTH)
        expect(seen.scale.x(moment) - seen.offset).toBeCloseTo(at * WIDTH, 0)
        expect(seen.scale.width / WIDTH / by).toBeCloseTo(1, 2)
      }),
    )
  })

  test('zooming out again shows everything', () => {
    checkProperty(
      fc.property(anyChain, place, factor, (stretches, at, by) => {
        const seen = seenOf(
          stretches,
          WIDTH,
          true,
          zoomed(stretches, true, seenOf(stretches, WIDTH, true, null), by, at * WIDTH),
        )
        expect(zoomed(stretches, true, seen, 1 / by / 1.01, at * WIDTH)).toBeNull()
      }),
    )
  })

  test('panning moves by as many pixels, and stops at both ends', () => {
    checkProperty(
      fc.property(anyChain, place, fc.integer({ min: -5000, max: 5000 }), (stretches, at, pixels) => {
        const all = seenOf(stretches, WIDTH, true, null)
        const seen = seenOf(stretches, WIDTH, true, zoomed(stretches, true, all, 10, at * WIDTH))
        const moved = seenOf(stretches, WIDTH, true, panned(seen, pixels))
        const wanted = Math.min(Math.max(0, seen.offset + pixels), seen.scale.width - WIDTH)
        expect(Math.abs(moved.offset - wanted)).toBeLessThan(1)
        expect(panned(all, pixels)).toBeNull()
      }),
    )
  })

  test('a range outside the view is brought into it, and one inside stays', () => {
    checkProperty(
      fc.property(anyChain, place, place, (stretches, at, target) => {
        const all = seenOf(stretches, WIDTH, true, null)
        const seen = seenOf(stretches, WIDTH, true, zoomed(stretches, true, all, 10, at * WIDTH))
        const span = stretches[Math.floor(target * (stretches.length - 1))]!
        const moved = seenOf(stretches, WIDTH, true, panTo(seen, span))
        const x = moved.scale.x(span.from) - moved.offset
        const end = moved.scale.x(span.to) - moved.offset
        expect(x).toBeLessThan(WIDTH + 1)
        expect(end).toBeGreaterThan(-1)
      }),
    )
  })
})

describe('bars of causes', () => {
  const UTC = momentsIn('UTC')
  const HOUR_MS = 3_600_000
  const FIRST_DAY = Date.parse('2026-11-23T00:00:00Z')

  const bucketsBy = (ms: number, failed: readonly Record<string, number>[]) =>
    failed.map((byCause, index) => ({
      from: new Date(FIRST_DAY + index * ms).toISOString(),
      to: new Date(FIRST_DAY + (index + 1) * ms).toISOString(),
      byCause: Object.entries(byCause).map(([cause, count]) => ({ cause, failed: count })),
    }))

  describe('bars of causes', () => {
    const buckets = bucketsBy(HOUR_MS, [
      { OOM_KILLED: 5 },
      {},
      { KERNEL_NONZERO_EXIT: 3, OOM_KILLED: 1 },
      { KERNEL_NONZERO_EXIT: 6 },
    ])

    test('have the most frequent cause at the bottom of each', () => {
      expect(causesOf(buckets)).toEqual([
        { cause: 'KERNEL_NONZERO_EXIT', failed: 9 },
        { cause: 'OOM_KILLED', failed: 6 },
      ])
      const { stacks, highest } = stacksOf(buckets, false)
      expect(highest).toBe(6)
      expect(stacks[2]!.parts).toEqual([
        { cause: 'KERNEL_NONZERO_EXIT', failed: 3, from: 0, to: 3 },
        { cause: 'OOM_KILLED', failed: 1, from: 3, to: 4 },
      ])
      expect(stacks[1]).toMatchObject({ total: 0, parts: [] })
    })

    test('reach from 0 to 1 as shares', () => {
      const { stacks } = stacksOf(buckets, true)
      expect(stacks[2]!.parts.map(({ from, to }) => [from, to])).toEqual([
        [0, 0.75],
        [0.75, 1],
      ])
    })

    test('parts add up, without gaps or overlaps', () => {
      const counts = fc.dictionary(fc.constantFrom('A', 'B', 'C', 'D'), fc.nat(50))
      checkProperty(
        fc.property(fc.array(counts, { maxLength: 20 }), fc.boolean(), (failed, isShare) => {
          for (const { total, parts } of stacksOf(bucketsBy(HOUR_MS, failed), isShare).stacks) {
            expect(parts.reduce((sum, part) => sum + part.failed, 0)).toBe(total)
            expect(parts.every(({ from }, index) => from === (index === 0 ? 0 : parts[index - 1]!.to))).toBe(true)
            if (total > 0) expect(parts.at(-1)!.to).toBeCloseTo(isShare ? 1 : total)
          }
        }),
      )
    })

    test.each([
      [0, [0, 1]],
      [1, [0, 1]],
      [3, [0, 1, 2, 3]],
      [6, [0, 2, 4, 6]],
      [70, [0, 20, 40, 60, 80]],
      [1_001, [0, 500, 1_000, 1_500]],
    ])('up to %i have the lines %o', (highest, ticks) => {
      expect(ticksOf(highest, 4)).toEqual(ticks)
    })
  })

  describe('times below the bars', () => {
    test('name the day where it is only a part of it', () => {
      const [hour] = bucketsBy(HOUR_MS, [{}])
      const [day] = bucketsBy(24 * HOUR_MS, [{}])
      expect(spanWords(hour!, UTC)).toBe('23 Nov, 00:00 to 01:00')
      expect(spanWords(day!, UTC)).toBe('23 Nov')
      vi.stubEnv('TZ', 'Asia/Kolkata')
      onTestFinished(() => void vi.unstubAllEnvs())
      expect(spanWords(day!, momentsIn('local'))).toBe('23 Nov, 05:30 to 05:30')
    })

    test('have room, and equal distances', () => {
      for (const [bucketMs, length] of [
        [120_000, 30],
        [HOUR_MS, 24],
        [6 * HOUR_MS, 28],
        [24 * HOUR_MS, 31],
      ] as const) {
        const buckets = bucketsBy(
          bucketMs,
          Array.from({ length }, () => ({})),
        )
        for (const slot of [9, 14, 22, 31, 48]) {
          const at = labelsOf(buckets, slot, UTC).map(({ index }) => index)
          const apart = at.slice(1).map((index, n) => index - at[n]!)
          expect(Math.min(...apart) * slot, `${bucketMs} ${slot}`).toBeGreaterThanOrEqual(62)
          expect(new Set(apart).size).toBeLessThanOrEqual(1)
          expect((length - (at.at(-1) ?? 0)) * slot).toBeGreaterThan(30)
        }
      }
    })
  })

  test.each(Object.keys(RANGES) as RangeWord[])('%s ends with the part of it that has begun', (range) => {
    const { seconds } = RANGES[range]
    checkProperty(
      fc.property(
        fc.integer({ min: FIRST_DAY, max: FIRST_DAY + 400 * 24 * HOUR_MS }),
        fc.constantFrom(0, 330, -300),
        (now, ahead) => {
          const { from, bucketSeconds } = spanOf(range, now, ahead)
          const parts = (now - Date.parse(from)) / (bucketSeconds * 1000)
          expect(Math.floor(parts)).toBe(seconds / bucketSeconds - 1)
          expect((Date.parse(from) / 1000 + ahead * 60) % bucketSeconds).toBe(0)
          expect(now - Date.parse(sinceOf(range, now)) - seconds * 1000).toBeLessThan(60_000)
          expect(Date.parse(sinceOf(range, now))).toBeLessThanOrEqual(now - seconds * 1000)
        },
      ),
    )
  })
})
