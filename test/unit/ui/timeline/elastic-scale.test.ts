import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { timelineOf } from '../../../../src/ui/timeline/bars.ts'
import { createScale, type Scale, stretchesOf } from '../../../../src/ui/timeline/scale.ts'
import { anySegments, segmentsOf, START } from './timelines.ts'
import { checkProperty } from '../../../support/seeds.ts'

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

  test('a long wait for an agent is cut, too', () => {
    const queued = segmentsOf([
      { running: 1000, backoff: 1000 },
      { queued: 3_600_000, running: 1000 },
    ])
    const scale = createScale(stretchesOf(timelineOf(queued.segments, queued.end)), 328, true)
    expect(outline(scale)).toEqual(['100 run', '100 wait', '28 cut', '100 run'])
  })

  test('the past and future of a wait are one piece, and the planned retry is as long as the median run', () => {
    const waiting = segmentsOf([{ running: 5000, backoff: 2000 }], { open: true, due: 3000 })
    const all = stretchesOf(timelineOf(waiting.segments, waiting.end))
    expect(all.map(({ from, to, isWait }) => [to - from, isWait])).toEqual([
      [5000, false],
      [5000, true],
      [5000, false],
    ])
  })

  test('divides the width equally where nothing has taken time yet', () => {
    const scale = createScale([{ from: START, to: START, isWait: true }], 500, true)
    expect(scale.pieces).toEqual([{ from: START, to: START, isWait: true, isCut: false, x: 0, width: 500 }])
    expect(createScale([], 500, true).x(START)).toBe(0)
  })

  test.each([true, false])('widths add up to the width, without gap or overlap, in order (elastic: %s)', (elastic) => {
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
  })

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
