import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Rows } from '../../../../src/ui/log/window.ts'
import { ELEMENT_PX_MAX, scrollHeight, scrollTopOf, windowAt } from '../../../../src/ui/log/window.ts'
import { checkProperty } from '../../../support/seeds.ts'

const million: Rows = { count: 1_000_000, height: 20, viewHeight: 600 }

describe('the window of a log', () => {
  test('few rows are drawn at their own positions', () => {
    const rows = { count: 100, height: 20, viewHeight: 600 }
    expect(scrollHeight(rows)).toBe(2000)
    expect(windowAt(rows, 0)).toEqual({ first: 0, end: 30, top: 0 })
    expect(windowAt(rows, 25)).toEqual({ first: 1, end: 32, top: -5 })
    expect(windowAt(rows, 1400)).toEqual({ first: 70, end: 100, top: 0 })
  })

  test('no rows, and fewer rows than fit', () => {
    expect(windowAt({ count: 0, height: 20, viewHeight: 600 }, 0)).toEqual({ first: 0, end: 0, top: 0 })
    const few = { count: 3, height: 20, viewHeight: 600 }
    expect(windowAt(few, 500)).toEqual({ first: 0, end: 3, top: 0 })
    expect(scrollTopOf(few, 2)).toBe(0)
  })

  test('no element is higher than browsers can draw, and the last of a million rows is reached', () => {
    expect(scrollHeight(million)).toBe(ELEMENT_PX_MAX)
    expect(windowAt(million, ELEMENT_PX_MAX - 600)).toEqual({ first: 999_970, end: 1_000_000, top: 0 })
    expect(windowAt(million, 0).first).toBe(0)
  })

  const rows = fc.record({
    count: fc.integer({ min: 1, max: 16_000_000 }),
    height: fc.integer({ min: 10, max: 40 }),
    viewHeight: fc.integer({ min: 40, max: 3000 }),
  })

  test('moves only forwards while scrolling forwards, fills the view, and starts at its top', () => {
    const places = fc.array(fc.integer({ min: 0, max: ELEMENT_PX_MAX }), { minLength: 2 })
    checkProperty(
      fc.property(rows, places, (all, tops) => {
        let last = 0
        for (const scrollTop of tops.toSorted((a, b) => a - b)) {
          const { first, end, top } = windowAt(all, scrollTop)
          expect(first).toBeGreaterThanOrEqual(last)
          last = first
          expect(top).toBeLessThanOrEqual(0)
          expect(top).toBeGreaterThan(-all.height - 1e-6)
          expect(end).toBeLessThanOrEqual(all.count)
          const filled = (end - first) * all.height + top
          expect(filled).toBeGreaterThanOrEqual(Math.min(all.viewHeight, all.count * all.height) - 1e-6)
        }
      }),
    )
  })

  test('every row can be brought into view, at whole scroll positions', () => {
    const place = fc.double({ min: 0, max: 1, noNaN: true })
    checkProperty(
      fc.property(rows, place, fc.constantFrom(0, 0.5, 1), (all, share, at) => {
        const row = Math.min(all.count - 1, Math.floor(share * all.count))
        const { first, end } = windowAt(all, Math.round(scrollTopOf(all, row, at)))
        // A pixel is up to two rows and a half of 16 million of the highest.
        const slack = Math.ceil((all.count * all.height) / ELEMENT_PX_MAX / all.height) + 1
        expect(row).toBeGreaterThanOrEqual(first - slack)
        expect(row).toBeLessThan(end + slack)
      }),
    )
  })
})
