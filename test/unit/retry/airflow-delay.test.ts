import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  AIRFLOW_RELEASES,
  airflowDelay,
  airflowDelayBounds,
  airflowMultiplier,
  type AirflowRelease,
  airflowTryNumber,
} from '../../../src/domain/retry/airflow.ts'
import { sha1 } from '../../../src/domain/retry/delay.ts'
import airflow from './vectors/airflow-backoff.json' with { type: 'json' }
import { checkProperty } from '../../support/seeds.ts'

const { vectors } = airflow
type Vector = (typeof vectors)[number]
const RELEASES: Record<string, AirflowRelease> = { F1: 'AIRFLOW_2_6', F2: 'AIRFLOW_2_10', F3: 'AIRFLOW_3_2' }

function backoffOf(vector: Vector) {
  return {
    release: RELEASES[vector.family]!,
    retryDelay: vector.retry_delay_s,
    multiplier: vector.multiplier,
    maxRetryDelay: vector.max_retry_delay_s,
  }
}

function taskOf(vector: Vector) {
  return { dagId: vector.dag_id, taskId: vector.task_id, logicalDate: vector.logical_date_str }
}

it('has examples of each formula, of overflow and of backoff that is off', () => {
  expect(vectors.length).toBe(60)
  const releases = [...vectors.map(({ family }) => RELEASES[family]), 'AIRFLOW_2_5']
  expect(new Set(releases)).toEqual(new Set(AIRFLOW_RELEASES))
  expect(vectors.filter(({ expect: { overflow_path: overflow } }) => overflow)).toHaveLength(2)
  expect(vectors.filter(({ expect: { exponential } }) => !exponential)).toHaveLength(2)
})

it.each(vectors)('$family, try $try_number of $retry_delay_s s × $multiplier', (vector) => {
  const { seconds, minBackoff, jitter } = airflowDelay(backoffOf(vector), taskOf(vector), vector.try_number)
  const wanted = vector.expect
  expect(seconds).toBe(wanted.delay)
  if (!wanted.exponential) return expect(minBackoff).toBeNull()
  expect(minBackoff).toBe(BigInt(wanted.min_backoff!))
  expect(jitter).toBe(BigInt(wanted.hash_mod!))
  expect(minBackoff! + jitter).toBe(BigInt(wanted.uncapped!))
  expect(sha1(wanted.hash_input!)).toBe(BigInt(`0x${wanted.sha1_hex}`))
})

it.each(vectors)('bounds hold $family, try $try_number of $retry_delay_s s × $multiplier', (vector) => {
  const { earliest, latest } = airflowDelayBounds(backoffOf(vector), vector.try_number)
  expect(vector.expect.delay).toBeGreaterThanOrEqual(earliest)
  expect(vector.expect.delay).toBeLessThanOrEqual(latest)
})

it.each([
  ['AIRFLOW_3_2', true, 2],
  ['AIRFLOW_3_2', false, 0],
  ['AIRFLOW_3_2', 0, 0],
  ['AIRFLOW_3_2', 1, 0],
  ['AIRFLOW_3_2', -2, 0],
  ['AIRFLOW_3_2', 2.5, 2.5],
  ['AIRFLOW_2_10', 2.5, 2],
  ['AIRFLOW_2_10', 1, 2],
  ['AIRFLOW_2_5', 2.5, 2],
  ['AIRFLOW_2_6', 0, 0],
  ['AIRFLOW_2_6', true, 2],
] as const)('%s takes %s for the multiplier %d', (release, setting, multiplier) => {
  expect(airflowMultiplier(release, setting)).toBe(multiplier)
})

/** Computed by `next_retry_datetime` of Airflow 2.5.3 for the task `wait` of the DAG `example`. */
it.each([
  [2, 30, null, 56],
  [3, 30, null, 65],
  [4, 30, null, 184],
  [3, 7.25, null, 20],
  [2, 0, null, 1],
  [14, 30, null, 147_460],
  [14, 30, 100_000, 100_000],
  [14, 30, 3_600, 3_600],
  [50, 30, null, 86_399_999_999_999],
  [60, 30, null, 86_399_999_999_999],
  [5_000, 30, null, 86_399_999_999_999],
  [5_000, 30, 7_200, 7_200],
])('2.5.3, try %d of %d s up to %s s, waits %d s', (tryNumber, retryDelay, maxRetryDelay, seconds) => {
  const backoff = { release: 'AIRFLOW_2_5', retryDelay, multiplier: 2, maxRetryDelay } as const
  const task = { dagId: 'example', taskId: 'wait', logicalDate: '2016-01-01 00:00:00+00:00' }
  expect(airflowDelay(backoff, task, tryNumber).seconds).toBe(seconds)
})

/** Measured with 2.5.3 on the page that the formula was read from: three runs of three retries after 30 s. */
it.each([
  [1, [40, 54, 35]],
  [2, [113, 118, 94]],
  [3, [214, 205, 132]],
])('retry %d of 2.5.3 waited as long as the formula allows', (retry, measured) => {
  const backoff = { release: 'AIRFLOW_2_5', retryDelay: 30, multiplier: 2, maxRetryDelay: null } as const
  const { earliest, latest } = airflowDelayBounds(backoff, airflowTryNumber('AIRFLOW_2_5', retry))
  for (const seconds of measured) {
    expect(seconds).toBeGreaterThanOrEqual(earliest)
    expect(seconds).toBeLessThanOrEqual(latest)
  }
})

it('every release waits the retry delay at least before the first retry, and twice as long before the next', () => {
  for (const release of AIRFLOW_RELEASES) {
    const bounds = [1, 2, 3].map((retry) =>
      airflowDelayBounds(
        { release, retryDelay: 30, multiplier: 2, maxRetryDelay: null },
        airflowTryNumber(release, retry),
      ),
    )
    expect(bounds).toEqual([
      { earliest: 30, latest: 59 },
      { earliest: 60, latest: 119 },
      { earliest: 120, latest: 239 },
    ])
  }
})

it('is a finite number within its bounds whatever is given', () => {
  const backoff = fc.record({
    release: fc.constantFrom(...AIRFLOW_RELEASES),
    retryDelay: fc.double({ min: 0, max: 1e12, noNaN: true }),
    multiplier: fc.double({ min: 0, max: 1e6, noNaN: true }),
    maxRetryDelay: fc.option(fc.double({ min: 0.001, max: 1e9, noNaN: true })),
  })
  checkProperty(
    fc.property(backoff, fc.integer({ min: 0, max: 100_000 }), fc.string(), (given, tryNumber, dagId) => {
      const { seconds } = airflowDelay(given, { dagId, taskId: 't', logicalDate: 'None' }, tryNumber)
      const { earliest, latest } = airflowDelayBounds(given, tryNumber)
      expect(Number.isFinite(seconds)).toBe(true)
      expect(seconds).toBeGreaterThanOrEqual(earliest)
      expect(seconds).toBeLessThanOrEqual(latest)
    }),
  )
})
