import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bundled,
  drawingOf,
  ELEMENTS_BESIDE,
  ELEMENTS_MAX,
  elementsOf,
  representative,
  ticksOf,
} from '../../../../src/ui/timeline/drawing.ts'
import { barsOf, type Item, timelineOf } from '../../../../src/ui/timeline/bars.ts'
import { createScale, stretchesOf } from '../../../../src/ui/timeline/scale.ts'
import { anySegments, segmentsOf } from './timelines.ts'
import { checkProperty } from '../../../support/seeds.ts'

const texts = (item: Item) => (item.type === 'bar' ? ['out of memory 5 s', '5 s'] : ['held 22 s: switched off', '22 s'])

function drawn(input: ReturnType<typeof segmentsOf>, width: number, zoom = 1, place = 0) {
  const timeline = timelineOf(input.segments, input.end)
  const scale = createScale(stretchesOf(timeline), width * zoom, true)
  const view = { offset: (width * zoom - width) * place, width }
  return { timeline, scale, view, drawing: drawingOf(timeline, scale, view, texts) }
}

describe('bundles', () => {
  const { segments, end } = segmentsOf(
    ['OOM_KILLED', 'OOM_KILLED', 'UNKNOWN', 'OOM_KILLED', 'UNKNOWN'].map((cause) => ({ running: 1000, cause })),
  )
  const bars = barsOf(timelineOf(segments, end))

  test('narrow neighbours are one bar, in the colour of their most frequent cause', () => {
    const xs = [0, 2.5, 5, 30, 31]
    const all = bundled(bars, ({ attempt }) => ({ x: xs[attempt - 1]!, width: 1 }))
    expect(all.map((each) => each.bars.map(({ attempt }) => attempt))).toEqual([
      [1, 2, 3],
      [4, 5],
    ])
    expect(all.map(({ x, width }) => [x, width])).toEqual([
      [0, 6],
      [30, 2],
    ])
    expect(all.map((each) => representative(each.bars).attempt)).toEqual([2, 5])
  })

  test('wide bars stay single, and narrow ones are widened as far as there is room', () => {
    const spans = [
      { x: 0, width: 0.2 },
      { x: 1.2, width: 8 },
      { x: 20, width: 0.2 },
      { x: 40, width: 3 },
      { x: 44, width: 2.9 },
    ]
    const all = bundled(bars, ({ attempt }) => spans[attempt - 1]!)
    expect(all.map((each) => each.bars.length)).toEqual([1, 1, 1, 1, 1])
    expect(all.map(({ width }) => Math.round(width * 10) / 10)).toEqual([1.2, 8, 2, 3, 2.9])
  })
})

describe('the drawing', () => {
  test('of a hundred or a thousand attempts has no more elements than the limit', () => {
    for (const attempts of [100, 400, 1000]) {
      for (const width of [320, 1100, 3000]) {
        const chain = segmentsOf(
          Array.from({ length: attempts }, (_, index) => ({ running: 1000 + (index % 7) * 900, backoff: 4000 })),
        )
        const { drawing } = drawn(chain, width)
        expect(elementsOf(drawing)).toBeLessThanOrEqual(ELEMENTS_MAX - ELEMENTS_BESIDE)
        expect(drawing.bars.length).toBeGreaterThan(10)
        expect(drawing.bars.flatMap(({ bars }) => bars.map(({ attempt }) => attempt))).toEqual(
          Array.from({ length: attempts }, (_, index) => index + 1),
        )
      }
    }
  })

  test('has only the visible part when zoomed', () => {
    const chain = segmentsOf(Array.from({ length: 100 }, () => ({ running: 1000, backoff: 1000 })))
    const { drawing } = drawn(chain, 1000, 20, 0.5)
    const [first, last] = [drawing.bars[0]!.bars[0]!.attempt, drawing.bars.at(-1)!.bars[0]!.attempt]
    expect([first, last]).toEqual([48, 53])
  })

  test('bars do not overlap or change their order; texts do not touch', () => {
    const zoom = fc.double({ min: 1, max: 50, noNaN: true })
    const place = fc.double({ min: 0, max: 1, noNaN: true })
    const width = fc.integer({ min: 200, max: 3000 })
    checkProperty(
      fc.property(anySegments(60), width, zoom, place, ({ segments, now }, px, factor, at) => {
        const { drawing } = drawn({ segments, end: now }, px, factor, at)
        let end = -Infinity
        for (const bar of drawing.bars) {
          expect(bar.x).toBeGreaterThanOrEqual(end - 1e-6)
          expect(bar.width).toBeGreaterThanOrEqual(0)
          end = bar.x + bar.width
        }
        let free = -1
        for (const { x, text } of drawing.labels) {
          const half = (text.length * 6.4) / 2
          expect(x - half).toBeGreaterThanOrEqual(free)
          expect(x + half).toBeLessThanOrEqual(px + 1)
          free = x + half
        }
        const attempts = drawing.bars.flatMap(({ bars }) => bars.map((bar) => bar.attempt))
        expect(attempts).toEqual(attempts.toSorted((a, b) => a - b))
        expect(elementsOf(drawing)).toBeLessThanOrEqual(ELEMENTS_MAX - ELEMENTS_BESIDE)
      }),
    )
  })
})

describe('the axis', () => {
  test('has round times, and the beginning of each stretch between cuts', () => {
    const chain = segmentsOf([
      { running: 300_000, backoff: 3_600_000 * 9 },
      { running: 600_000, cause: null },
    ])
    const { scale, view } = drawn(chain, 928)
    const ticks = ticksOf(scale, view).map(({ at, unit }) => `${new Date(at).toISOString().slice(11, 19)} ${unit}`)
    expect(ticks).toEqual([
      '12:04:05 second',
      '12:06:00 minute',
      '12:08:00 minute',
      '21:10:00 minute',
      '21:12:00 minute',
      '21:14:00 minute',
      '21:16:00 minute',
      '21:18:00 minute',
    ])
  })

  test('leaves room for its texts, and is in order', () => {
    checkProperty(
      fc.property(anySegments(40), fc.integer({ min: 200, max: 3000 }), ({ segments, now }, px) => {
        const { scale, view } = drawn({ segments, end: now }, px)
        const ticks = ticksOf(scale, view, 330)
        expect(ticks.length).toBeLessThan(40)
        for (const [index, { x, at }] of ticks.entries()) {
          expect(x).toBeLessThanOrEqual(px)
          if (index === 0) continue
          expect(x - ticks[index - 1]!.x).toBeGreaterThanOrEqual(84)
          expect(at).toBeGreaterThan(ticks[index - 1]!.at)
        }
      }),
    )
  })
})
