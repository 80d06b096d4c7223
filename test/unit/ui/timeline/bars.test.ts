import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { barsOf, timelineOf, waitingSeconds, type Gap, type Timeline } from '../../../../src/ui/timeline/bars.ts'
import { anySegments, segmentsOf, START } from './timelines.ts'
import { checkProperty } from '../../../support/seeds.ts'

function outline({ items }: Timeline): string[] {
  return items.map((item) =>
    item.type === 'bar'
      ? `${item.attempt}: ${item.parts.map(({ kind, from, to }) => `${kind} ${(to - from) / 1000}`).join(', ')}`
      : `${item.kind} ${(item.to - item.from) / 1000}`,
  )
}

describe('bars', () => {
  test('an attempt is one bar, and what is between two of them is a gap each', () => {
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

  test('an attempt that goes on ends now; the reason is that of its end', () => {
    const { segments } = segmentsOf([{ queued: 1000, running: 5000 }], { open: true })
    segments[1]!.reason = 'runs'
    const [bar] = barsOf(timelineOf(segments, START + 60_000))
    expect(bar).toMatchObject({ to: START + 60_000, isOpen: true, reason: 'runs' })
    expect(bar!.parts.at(-1)).toEqual({ kind: 'RUNNING', from: START + 1000, to: START + 60_000 })
  })

  test('the planned retry is a ghost; a held one is drawn at the present time', () => {
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

  test("the time drawn as waiting is the chain's waiting time", () => {
    checkProperty(
      fc.property(anySegments(30), ({ segments, now }) => {
        const started = new Map<number, number>()
        for (const { kind, attempt, from } of segments) if (kind === 'RUNNING') started.set(attempt, from)
        const spent = segments.filter(({ kind }) => kind !== 'PLANNED')
        const total = (spent.at(-1)?.to ?? now) - (spent[0]?.from ?? now)
        const ran = spent
          .filter(({ kind, attempt }) => kind === 'RUNNING' || (kind === 'ENDING' && started.has(attempt)))
          .reduce((sum, { from, to }) => sum + (to ?? now) - from, 0)
        expect(waitingSeconds(timelineOf(segments, now))).toBeCloseTo((spent.length === 0 ? 0 : total - ran) / 1000, 6)
      }),
    )
  })
})
