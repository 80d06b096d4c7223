import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextAttemptDelay, reconnectDelay } from '../../../src/client/transport/retry-schedule.ts'
import { type NetworkRetry, RETRY_DEFAULTS } from '../../../src/client/settings.ts'
import vectors from './vectors/client-retry.json' with { type: 'json' }
import { checkProperty } from '../../support/seeds.ts'

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

test('reconnecting waits from half to the whole of what doubles up to the bound', () => {
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
