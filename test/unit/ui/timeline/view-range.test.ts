import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timelineOf } from '../../../../src/ui/timeline/bars.ts'
import { panned, panTo, seenOf, stretchesOf, zoomed } from '../../../../src/ui/timeline/scale.ts'
import { anySegments } from './timelines.ts'
import { checkProperty } from '../../../support/seeds.ts'

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

test('the time under the pointer stays there while zooming in, and an address restores the zoomed range', () => {
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

test('a span outside is brought into view, and one inside stays', () => {
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
