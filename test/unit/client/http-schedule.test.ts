import { expect, test } from 'vitest'
import { judgeAnswer, parseRetryAfter } from '../../../src/client/transport/retry-schedule.ts'
import { RETRY_DEFAULTS } from '../../../src/client/settings.ts'
import vectors from './vectors/client-retry.json' with { type: 'json' }

const { cases } = vectors.http_layer
/** What Retry-After the answers carry, by the case's name; the vectors have it there alone. */
const RETRY_AFTER: Record<string, number> = {
  'Retry-After 7 on 429': 7,
  'Retry-After 0 falls back to backoff': 0,
  'blog list without 429/503: 503 + Retry-After still retried': 2,
}
/** Which operations may be repeated is decided before this layer is asked. */
const byMethod = 'POST is not retried'

test.each(cases.filter(({ name }) => name !== byMethod))('$name', ({ name, config, out }) => {
  const layer = {
    ...RETRY_DEFAULTS.http,
    total: config.total,
    backoffFactor: config.backoff_factor,
    statuses: config.force,
  }
  let slept = 0
  const steps = out.steps.map(({ response, status }) => {
    const verdict = judgeAnswer(layer, { status, retryAfterSeconds: RETRY_AFTER[name] }, response)
    if (verdict.action === 'retry') slept += verdict.delaySeconds
    return verdict
  })
  const expected = out.steps.map((step) => {
    if (step.action === 'retry') return { action: 'retry', delaySeconds: step.sleep_s }
    return { action: step.action === 'raise' ? 'raise' : 'return' }
  })
  expect(steps).toEqual(expected)
  expect(slept).toBe(out.total_sleep_s)
})

test('all cases were seen', () => expect(cases.length).toBeGreaterThanOrEqual(11))

test('a Retry-After is cut to the bound', () => {
  const layer = { ...RETRY_DEFAULTS.http, retryAfterMaxSeconds: 10 }
  const verdict = judgeAnswer(layer, { status: 503, retryAfterSeconds: 3600 }, 1)
  expect(verdict).toEqual({ action: 'retry', delaySeconds: 10 })
})

test.each([
  ['7', 7],
  ['0', 0],
  [' 120 ', 120],
  ['Sat, 21 Nov 2026 12:00:30 GMT', 30],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [null, undefined],
])('Retry-After %j is %j', (header, seconds) => {
  expect(parseRetryAfter(header, Date.UTC(2026, 10, 21, 12))).toBe(seconds)
})
