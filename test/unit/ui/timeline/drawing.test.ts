import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  barsOf,
  type Gap,
  type Item,
  type Timeline,
  timelineOf,
  waitingSeconds,
} from '../../../../src/ui/timeline/bars.ts'
import {
  bundled,
  drawingOf,
  ELEMENTS_BESIDE,
  ELEMENTS_MAX,
  elementsOf,
  representative,
  ticksOf,
} from '../../../../src/ui/timeline/drawing.ts'
import { createScale, stretchesOf } from '../../../../src/ui/timeline/scale.ts'
import { timelineText } from '../../../../src/ui/timeline/words.ts'
import { momentsIn } from '../../../../src/ui/words/time.ts'
import { checkProperty } from '../../../support/seeds.ts'
import { anySegments, segmentsOf, START } from './timelines.ts'

describe('bars', () => {
  function outline({ items }: Timeline): string[] {
    return items.map((item) =>
      item.type === 'bar'
        ? `${item.attempt}: ${item.parts.map(({ kind, from, to }) => `${kind} ${(to - from) / 1000}`).join(', ')}`
        : `${item.kind} ${(item.to - item.from) / 1000}`,
    )
  }

  describe('bars', () => {
    test('an attempt is one bar, and the time between two attempts is one gap', () => {
      const { segments, end } = segmentsOf([
        { queued: 1000, preparing: 2000, running: 5000, ending: 100, backoff: 10_000, held: 22_000 },
        { queued: 500, running: 4000, resubmission: 3_600_000 },
        { running: 3000, cause: null },
      ])
      const timeline = timelineOf(segments, end)
      expect(outline(timeline)).toEqual([
        '1: QUEUED 1, PREPARING 2, RUNNING 5, ENDING 0.1',
        'BACKOFF 10',
        'HELD 22',
        '2: QUEUED 0.5, RUNNING 4',
        'RESUBMISSION_GAP 3600',
        '3: RUNNING 3',
      ])
      expect(timeline).toMatchObject({ from: START, to: end, ghost: null })
      expect(barsOf(timeline).map(({ epoch, outcome }) => [epoch, outcome])).toEqual([
        [0, 'FAILED'],
        [0, 'FAILED'],
        [1, 'SUCCEEDED'],
      ])
      expect((timeline.items[2] as Gap).holdReason).toBe('DISABLED')
    })

    test.each([
      ['ERROR', 'FAILURE', 'OOM_KILLED', 'FAILED'],
      ['ERROR', 'FAILURE', null, 'FAILED'],
      ['TERMINATED', 'SUCCESS', null, 'SUCCEEDED'],
      ['TERMINATED', 'UNDEFINED', null, 'TERMINATED'],
      ['TERMINATED', 'FAILURE', 'USER_CANCELLED', 'TERMINATED'],
      ['CANCELLED', 'UNDEFINED', null, 'TERMINATED'],
      ['RUNNING', 'UNDEFINED', null, 'LIVE'],
      ['TERMINATING', 'SUCCESS', null, 'LIVE'],
      ['PENDING', 'UNDEFINED', null, 'LIVE'],
    ])('%s with result %s and cause %s: %s', (status, result, cause, outcome) => {
      const { segments, end } = segmentsOf([{ running: 1000 }])
      const session = { ...segments[0]!.session!, status, result }
      expect(barsOf(timelineOf([{ ...segments[0]!, session, cause }], end))[0]!.outcome).toBe(outcome)
    })

    test('an active attempt ends at now; the reason is that of the end', () => {
      const { segments } = segmentsOf([{ queued: 1000, running: 5000 }], { open: true })
      segments[1]!.reason = 'runs'
      const [bar] = barsOf(timelineOf(segments, START + 60_000))
      expect(bar).toMatchObject({ to: START + 60_000, isOpen: true, reason: 'runs' })
      expect(bar!.parts.at(-1)).toEqual({ kind: 'RUNNING', from: START + 1000, to: START + 60_000 })
    })

    test('the planned retry is a ghost; a held one is at now', () => {
      const waiting = segmentsOf([{ running: 1000, backoff: 2000 }], { open: true, due: 6000 })
      expect(timelineOf(waiting.segments, waiting.end).ghost).toEqual({
        attempt: 2,
        epoch: 0,
        at: waiting.end + 6000,
        isHeld: false,
        reason: 'retry',
      })
      const held = segmentsOf([{ running: 1000, backoff: 2000, held: 1000 }], { open: true, due: 0 })
      const later = held.end + 9000
      expect(timelineOf(held.segments, later)).toMatchObject({ to: later, ghost: { at: later, isHeld: true } })
    })

    test('no segments give no bars', () => {
      expect(timelineOf([], START)).toEqual({ from: START, to: START, items: [], ghost: null })
    })

    test('keep the order, and cover the time without gaps or overlaps', () => {
      checkProperty(
        fc.property(anySegments(30), ({ segments, now }) => {
          const { items, from, to } = timelineOf(segments, now)
          let end = from
          for (const item of items) {
            expect(item.from).toBe(end)
            expect(item.to).toBeGreaterThanOrEqual(item.from)
            if (item.type === 'bar') {
              let within = item.from
              for (const part of item.parts) {
                expect(part.from).toBe(within)
                within = part.to
              }
              expect(within).toBe(item.to)
            }
            end = item.to
          }
          expect(end).toBe(to)
          const attempts = items.map(({ attempt }) => attempt)
          expect(attempts).toEqual(attempts.toSorted((a, b) => a - b))
          const bars = items.filter(({ type }) => type === 'bar').map(({ attempt }) => attempt)
          expect(bars).toEqual([...new Set(segments.filter(({ session }) => session).map((each) => each.attempt))])
        }),
      )
    })

    test('the drawn waits are the waits of the chain', () => {
      checkProperty(
        fc.property(anySegments(30), ({ segments, now }) => {
          const started = new Map<number, number>()
          for (const { kind, attempt, from } of segments) if (kind === 'RUNNING') started.set(attempt, from)
          const spent = segments.filter(({ kind }) => kind !== 'PLANNED')
          const total = (spent.at(-1)?.to ?? now) - (spent[0]?.from ?? now)
          const ran = spent
            .filter(({ kind, attempt }) => kind === 'RUNNING' || (kind === 'ENDING' && started.has(attempt)))
            .reduce((sum, { from, to }) => sum + (to ?? now) - from, 0)
          expect(waitingSeconds(timelineOf(segments, now))).toBeCloseTo(
            (spent.length === 0 ? 0 : total - ran) / 1000,
            6,
          )
        }),
      )
    })
  })
})

describe('the drawing', () => {
  const texts = (item: Item) =>
    item.type === 'bar' ? ['out of memory 5 s', '5 s'] : ['held 22 s: switched off', '22 s']

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

    test('when zoomed, has only what is seen', () => {
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
    test('has round moments, and the start of each part between cuts', () => {
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
})

describe('the timeline as text', () => {
  const moments = momentsIn('UTC')

  test('a chain for a chat: its drawing, and a line for each attempt', () => {
    const { segments, end } = segmentsOf(
      [
        { queued: 1000, preparing: 500, running: 5000, cause: 'OOM_KILLED', backoff: 6000 },
        { running: 4000, cause: 'OOM_KILLED', resubmission: 3_600_000 },
        { running: 4000, backoff: 3000, held: 4000 },
        { running: 5000, backoff: 2000 },
      ],
      { open: true, due: 6000 },
    )
    expect(timelineText(timelineOf(segments, end), { name: 'reco-skim-17', now: end, moments })).toBe(
      `reco-skim-17 · 2026-11-23 12:04:05 UTC · waited 1 h
│▒████████········│██████⫽⫽⫽│██████····‖‖‖‖‖‖│███████···        ┆       
   1  queued 1 s, prepared 0.5 s, ran 5 s, out of memory, then backoff 6 s
   2  ran 4 s, out of memory, then until resubmitted 1 h
   3  ran 4 s, exit code 3, then backoff 3 s, then held 4 s
   4  ran 5 s, exit code 3, then backoff 2 s
   5  planned, in 0:06
`,
    )
  })

  test('checkpoints that attempts found', () => {
    const none = { fromAttempt: null, bytes: null, note: null }
    const { segments, end } = segmentsOf([
      { running: 1000, backoff: 1000 },
      { running: 1000, backoff: 1000, checkpoint: { ...none, state: 'HERE', fromAttempt: 1 } },
      { running: 1000, backoff: 1000, checkpoint: { ...none, state: 'FETCHED', fromAttempt: 2 } },
      { running: 1000, backoff: 1000, checkpoint: { ...none, state: 'MISSING', fromAttempt: 3 } },
      { running: 1000, checkpoint: { ...none, state: 'HERE' } },
    ])
    const lines = timelineText(timelineOf(segments, end), { name: 'long', now: end, moments }).split('\n')
    expect(lines.slice(2, -1)).toEqual([
      '   1  ran 1 s, exit code 3, then backoff 1 s',
      '   2  ran 1 s, exit code 3, went on from attempt 1, then backoff 1 s',
      '   3  ran 1 s, exit code 3, went on from attempt 2, whose checkpoint was fetched, then backoff 1 s',
      '   4  ran 1 s, exit code 3, began without the checkpoint of attempt 3, then backoff 1 s',
      '   5  ran 1 s, exit code 3, went on from an earlier attempt',
    ])
  })

  test('a long chain shows its newest attempts', () => {
    const { segments, end } = segmentsOf(Array.from({ length: 30 }, () => ({ running: 1000, backoff: 1000 })))
    const lines = timelineText(timelineOf(segments, end), { name: 'long', now: end, moments }).split('\n')
    expect(lines[2]).toBe('10 earlier attempts are left out')
    expect(lines[3]).toMatch(/^ {2}11 {2}ran 1 s/)
    expect([...lines[1]!].length).toBe(72)
  })
})
