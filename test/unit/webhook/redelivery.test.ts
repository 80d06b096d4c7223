import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WEBHOOK_RETRY_AFTER_MAX_MS } from '../../../src/domain/limits.ts'
import { judgeAttempt, parseRetryAfter, REDELIVERY_SECONDS } from '../../../src/domain/webhook.ts'
import { checkProperty } from '../../support/seeds.ts'

const DELIVERY = '0197fc50-7d3c-7000-8000-000000000001'

function judge(statusCode: number | null, more: Partial<Parameters<typeof judgeAttempt>[0]> = {}) {
  return judgeAttempt({
    deliveryId: DELIVERY,
    statusCode,
    retryAfterMs: null,
    failures: 0,
    redelivered: true,
    ...more,
  })
}

describe('what becomes of a delivery', () => {
  it('has ten attempts over three days, each delay up to a tenth longer than it says', () => {
    const hours = REDELIVERY_SECONDS.reduce((sum, seconds) => sum + seconds, 0) / 3600
    expect(hours).toBeCloseTo(75.58, 1)
    checkProperty(
      fc.property(fc.uuid(), fc.nat(REDELIVERY_SECONDS.length - 1), (deliveryId, failures) => {
        const verdict = judge(500, { deliveryId, failures })
        const base = REDELIVERY_SECONDS[failures]! * 1000
        if (verdict.kind !== 'again') throw new Error(verdict.kind)
        expect(verdict.inMs).toBeGreaterThanOrEqual(base)
        expect(verdict.inMs).toBeLessThanOrEqual(Math.min(base * 1.1, 86_400_000))
      }),
    )
    expect(judge(500, { failures: 9 })).toEqual({ kind: 'exhausted', restMs: 0 })
  })

  it('is delivered by any 2xx and by nothing else', () => {
    expect([200, 201, 204, 299].map((status) => judge(status).kind)).toEqual(Array(4).fill('delivered'))
    expect([199, 300, 301, 307, 400, 404, 500, null].map((status) => judge(status).kind)).toEqual(
      Array(8).fill('again'),
    )
    expect(judge(410)).toEqual({ kind: 'gone' })
  })

  it('waits as long as Retry-After says where that is longer; 429 and 503 rest the endpoint', () => {
    expect(judge(500, { retryAfterMs: 60_000 })).toEqual({ kind: 'again', inMs: 60_000, restMs: 0 })
    expect(judge(429, { retryAfterMs: 60_000 })).toEqual({ kind: 'again', inMs: 60_000, restMs: 60_000 })
    expect(judge(503, { retryAfterMs: 1 })).toMatchObject({ restMs: 1, inMs: expect.toSatisfy((ms) => ms >= 5_000) })
  })

  it('a test event has one attempt', () => {
    expect(judge(500, { redelivered: false })).toEqual({ kind: 'exhausted', restMs: 0 })
  })
})

it('Retry-After is seconds or a date, and bounded', () => {
  const now = new Date('2026-11-21T12:00:00Z')
  const read = (header?: string) => parseRetryAfter(header, now)
  expect(read('120')).toBe(120_000)
  expect(read(' 0 ')).toBe(0)
  expect(read('Sat, 21 Nov 2026 12:00:30 GMT')).toBe(30_000)
  expect(read('Sat, 21 Nov 2026 11:00:00 GMT')).toBe(0)
  expect(read('999999999')).toBe(WEBHOOK_RETRY_AFTER_MAX_MS)
  expect([read(), read('soon'), read('-5'), read('1.5'), read('')]).toEqual([null, null, null, null, null])
})
