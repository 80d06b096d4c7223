import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { causesOf, stacksOf, ticksOf } from '../../../../src/ui/charts/cause-stacks.ts'
import { labelsOf, spanWords } from '../../../../src/ui/charts/cause-stacks.ts'
import { momentsIn } from '../../../../src/ui/words/time.ts'
import { RANGES, type RangeWord, sinceOf, spanOf } from '../../../../src/ui/app/list/time-range.ts'
import { checkProperty } from '../../../support/seeds.ts'

const UTC = momentsIn('UTC')
const HOUR_MS = 3_600_000
const START = Date.parse('2026-11-23T00:00:00Z')

const bucketsBy = (ms: number, failed: readonly Record<string, number>[]) =>
  failed.map((byCause, index) => ({
    from: new Date(START + index * ms).toISOString(),
    to: new Date(START + (index + 1) * ms).toISOString(),
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
  test('have the day where they are not a whole one', () => {
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
      fc.integer({ min: START, max: START + 400 * 24 * HOUR_MS }),
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
