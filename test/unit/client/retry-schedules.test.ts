import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEnvironment } from '../../../src/client/node/environment.ts'
import {
  type NetworkRetry,
  resolveRetry,
  resolveTimeouts,
  RETRY_DEFAULTS,
  type TimeoutOptions,
} from '../../../src/client/settings.ts'
import {
  judgeAnswer,
  nextAttemptDelay,
  parseRetryAfter,
  reconnectDelay,
} from '../../../src/client/transport/retry-schedule.ts'
import { checkProperty } from '../../support/seeds.ts'
import vectors from './client-retry.json' with { type: 'json' }

describe('retries of HTTP requests', () => {
  const { cases } = vectors.http_layer
  /** The Retry-After of the answers, by the name of the case; the vectors have it only in the name. */
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
})

describe('retries after faults of the network', () => {
  const layer = vectors.network_layer
  const defaults: NetworkRetry = RETRY_DEFAULTS.network
  const noRandomness = () => expect.unreachable('asked for randomness')

  test.each(layer['wait_exponential(1,min=1,max=10) by failed attempt number'])(
    'attempt $attempt waits $sleep_s s',
    ({ attempt, sleep_s }) => {
      expect(nextAttemptDelay(defaults, { failed: attempt, elapsedSeconds: 0 }, noRandomness)).toBe(sleep_s)
    },
  )

  test.each(layer.cases)('each attempt takes $attempt_cost_s s: $attempts attempts, $result', (vector) => {
    const sleeps: number[] = []
    let elapsedSeconds = 0
    let attempts = 0
    for (;;) {
      attempts++
      elapsedSeconds += vector.attempt_cost_s
      if (vector.result === 'ok' && attempts === vector.attempts) break
      const delay = nextAttemptDelay(defaults, { failed: attempts, elapsedSeconds }, noRandomness)
      if (delay === null) break
      sleeps.push(delay)
      elapsedSeconds += delay
    }
    expect({ attempts, sleeps, elapsed: Math.round(elapsedSeconds * 10) / 10 }).toEqual({
      attempts: vector.attempts,
      sleeps: vector.sleeps_s,
      elapsed: vector.elapsed_s,
    })
  })

  describe('random', () => {
    const random: NetworkRetry = {
      ...defaults,
      maxSeconds: 30,
      random: true,
      stopAfterSeconds: null,
      stopAfterAttempts: 7,
    }

    test.each(layer['wait_random_exponential(1,min=1,max=30) bounds by failed attempt'].slice(0, 6))(
      'attempt $attempt waits $low to $high s',
      ({ attempt, low, high }) => {
        const at = (value: number) => nextAttemptDelay(random, { failed: attempt, elapsedSeconds: 1e9 }, () => value)
        expect(at(0)).toBe(low)
        expect(at(1)).toBe(high)
      },
    )

    test('ends after its number of attempts', () => {
      const { attempts, sleeps } = layer['stop_after_attempt(7)']
      const delays = Array.from({ length: attempts }, (_, index) =>
        nextAttemptDelay(random, { failed: index + 1, elapsedSeconds: 0 }, () => 0),
      )
      expect(delays.filter((delay) => delay !== null)).toHaveLength(sleeps)
      expect(delays.at(-1)).toBeNull()
    })
  })

  test('a reconnect waits from half to the whole of a delay that doubles up to the bound', () => {
    const seconds = fc.double({ min: 0.01, max: 60, noNaN: true })
    const property = fc.property(
      seconds,
      seconds,
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (minSeconds, more, failed, random) => {
        const maxSeconds = minSeconds + more
        const ceiling = Math.min(maxSeconds, minSeconds * 2 ** (failed - 1))
        const delay = reconnectDelay({ minSeconds, maxSeconds }, failed, () => random)
        expect(delay).toBeGreaterThanOrEqual(ceiling / 2)
        expect(delay).toBeLessThanOrEqual(ceiling)
      },
    )
    checkProperty(property)
  })
})

describe('timeouts', () => {
  /** In the vectors a null argument is none, a null result is no bound. */
  function asOptions(argument: number | number[] | null): TimeoutOptions | undefined {
    if (argument === null) return undefined
    return Array.isArray(argument) ? { connectSeconds: argument[0], readSeconds: argument[1] } : argument
  }

  function asPair(result: number | (number | null)[] | null): (number | null)[] {
    return Array.isArray(result) ? result : [result, result]
  }

  test.each(vectors.timeouts)('time-outs: $timeout_arg with $env', ({ timeout_arg, env, result, note }) => {
    const warnings: string[] = []
    const renamed = Object.entries(env).map(([name, value]) => [name.replace('AIS_', 'REPRISE_'), value])
    const environment = readEnvironment(Object.fromEntries(renamed), (text) => warnings.push(text))
    const { connectSeconds, readSeconds } = resolveTimeouts(asOptions(timeout_arg), environment)
    expect([connectSeconds, readSeconds]).toEqual(asPair(result))
    expect(warnings).toHaveLength(note === 'warning' ? 1 : 0)
  })

  test('each layer of retries can be set and switched off, by options and by the environment', () => {
    const environment = readEnvironment({ REPRISE_HTTP_RETRIES: '5', REPRISE_NETWORK_RETRY_SECONDS: '0' }, () => {})
    expect(resolveRetry(undefined)).toEqual(RETRY_DEFAULTS)
    expect(resolveRetry(undefined, environment)).toEqual({
      ...RETRY_DEFAULTS,
      http: { ...RETRY_DEFAULTS.http, total: 5 },
      network: null,
    })
    expect(resolveRetry({ http: { total: 1 }, network: { stopAfterSeconds: 9 } }, environment)).toMatchObject({
      http: { total: 1, backoffFactor: 0.5 },
      network: { stopAfterSeconds: 9, maxSeconds: 10 },
    })
    expect(resolveRetry({ http: false, reconnect: false })).toMatchObject({ http: null, reconnect: null })
    expect(resolveRetry(false)).toEqual({ http: null, network: null, reconnect: null })
  })
})
