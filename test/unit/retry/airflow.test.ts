import fc from 'fast-check'
import { sha1 } from '../../../src/domain/retry/delay.ts'
import { describe, expect, it } from 'vitest'
import {
  AIRFLOW_RELEASES,
  airflowDelay,
  airflowDelayBounds,
  airflowMultiplier,
  type AirflowRelease,
  type AirflowSettings,
  airflowTryNumber,
  convertAirflowSettings,
  parseAirflowSettings,
  planAirflowRetries,
} from '../../../src/domain/retry/airflow.ts'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { parseRetryPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { previewRetries } from '../../../src/domain/retry/preview.ts'
import { checkProperty } from '../../support/seeds.ts'
import airflow from './airflow-backoff.json' with { type: 'json' }

describe('delays', () => {
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
})

describe('policies', () => {
  function settings(given: Partial<AirflowSettings> = {}): AirflowSettings {
    const parsed = parseAirflowSettings({ retries: 3, retryDelay: 30, ...given })
    if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues))
    return parsed.settings
  }

  function schedules(given: AirflowSettings) {
    const policy = { ...SHIPPED_POLICY, ...convertAirflowSettings(given).policy }
    return {
      ours: previewRetries({ policy, cause: null, exitCode: null, session: null }).schedule,
      theirs: planAirflowRetries(given, null),
    }
  }

  describe('settings', () => {
    it("have Airflow's defaults", () => {
      expect(parseAirflowSettings({ maxRetryDelay: null, retries: undefined })).toEqual({
        settings: {
          release: 'AIRFLOW_3_2',
          retries: 0,
          retryDelay: 300,
          retryExponentialBackoff: false,
          maxRetryDelay: null,
        },
        task: null,
      })
    })

    it('name a task, of a run with or without a date', () => {
      expect(parseAirflowSettings({ dagId: 'd', taskId: 't' })).toMatchObject({
        task: { dagId: 'd', taskId: 't', logicalDate: 'None' },
      })
    })

    it.each([
      [{ retries: -1 }, 'retries'],
      [{ retries: 1.5 }, 'retries'],
      [{ retryDelay: -1 }, 'retryDelay'],
      [{ retryDelay: Infinity }, 'retryDelay'],
      [{ retryExponentialBackoff: 'yes' }, 'retryExponentialBackoff'],
      [{ maxRetryDelay: -1 }, 'maxRetryDelay'],
      [{ release: '2.6' }, 'release'],
      [{ dagId: 'd' }, 'taskId'],
      [{ retry_delay: 3 }, ''],
    ])('refuse %j', (given, path) => {
      expect(parseAirflowSettings(given)).toMatchObject({ issues: [{ path }] })
    })
  })

  describe('become a policy', () => {
    it('without backoff', () => {
      expect(convertAirflowSettings(settings({ maxRetryDelay: 10 }))).toMatchObject({
        policy: { maxRetries: 3, retryDelay: 30, backoff: 'FIXED', maxRetryDelay: null, jitter: 'NONE' },
        explanation: { alike: expect.arrayContaining([expect.stringMatching(/ignores max_retry_delay/)]) },
      })
    })

    it('with backoff', () => {
      expect(convertAirflowSettings(settings({ retryExponentialBackoff: true, maxRetryDelay: 600 })).policy).toEqual({
        maxRetries: 3,
        retryDelay: 30,
        backoff: 'EXPONENTIAL',
        backoffMultiplier: 2,
        maxRetryDelay: 600,
        jitter: 'DETERMINISTIC',
        jitterRatio: 1,
      })
    })

    it.each([
      [{ retries: 101 }, /retries 101 times; a policy at most 100/],
      [{ retryDelay: 90_000 }, /waits 90000 s; here no delay is longer than 86400 s/],
      [{ retryDelay: 0 }, /becomes 0\.001 s/],
      [{ retryDelay: 7.25, retryExponentialBackoff: true }, /rounds .* up to whole seconds/],
      [{ retryExponentialBackoff: 1.5 }, /rounds .* up to whole seconds/],
      [{ retryExponentialBackoff: true }, /mapped tasks wait equally long/],
      [{ retryExponentialBackoff: true, release: 'AIRFLOW_2_5' as const }, /Before 2\.6 Airflow has no limit/],
      [{}, /AirflowFailException/],
    ])('of which %j differs', (given, sentence) => {
      expect(convertAirflowSettings(settings(given)).explanation.differs.join(' ')).toMatch(sentence)
    })

    it('in which a delay of 0 with backoff is a second, as in Airflow', () => {
      const { ours, theirs } = schedules(settings({ retryDelay: 0, retryExponentialBackoff: true }))
      expect(ours.map((retry) => [retry.earliestSeconds, retry.latestSeconds])).toEqual([
        [1, 1],
        [1, 1],
        [1, 1],
      ])
      expect(theirs.map((retry) => retry.latestSeconds)).toEqual([1, 1, 1])
    })

    const anySettings: fc.Arbitrary<AirflowSettings> = fc.record({
      release: fc.constantFrom(...AIRFLOW_RELEASES),
      retries: fc.integer({ min: 0, max: 200 }),
      retryDelay: fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.double({ min: 0, max: 1e5, noNaN: true })),
      retryExponentialBackoff: fc.oneof(fc.boolean(), fc.double({ min: -1, max: 20, noNaN: true })),
      maxRetryDelay: fc.option(fc.integer({ min: 1, max: 200_000 })),
    })

    it('that is always valid, and as long as the plan of Airflow', () => {
      checkProperty(
        fc.property(anySettings, (given) => {
          const { policy } = convertAirflowSettings(given)
          expect(parseRetryPolicy(policy)).toEqual({ policy })
          const { ours, theirs } = schedules(given)
          expect(ours.length).toBe(theirs.length)
        }),
      )
    })

    it('whose delays lie where those of Airflow lie', () => {
      const whole = fc.record({
        release: fc.constantFrom(...AIRFLOW_RELEASES),
        retries: fc.integer({ min: 0, max: 30 }),
        retryDelay: fc.integer({ min: 1, max: 86_400 }),
        retryExponentialBackoff: fc.oneof(fc.boolean(), fc.integer({ min: 0, max: 10 })),
        maxRetryDelay: fc.option(fc.integer({ min: 1, max: 200_000 })),
      })
      checkProperty(
        fc.property(whole, (given) => {
          const { ours, theirs } = schedules(given)
          for (const [index, theirRetry] of theirs.entries()) {
            const retry = ours[index]!
            // Before 2.6 Airflow had no such ceiling, which the explanation says.
            if (theirRetry.latestSeconds > 86_400) {
              expect(retry.latestSeconds).toBe(86_400)
              continue
            }
            expect(retry.earliestSeconds).toBe(theirRetry.earliestSeconds)
            // Airflow adds whole seconds, so its last one is up to a second earlier.
            expect(retry.latestSeconds - theirRetry.latestSeconds).toBeGreaterThanOrEqual(0)
            expect(retry.latestSeconds - theirRetry.latestSeconds).toBeLessThanOrEqual(1)
          }
        }),
      )
    })
  })

  it("gives Airflow's own delays where the task is known", () => {
    const task = { dagId: 'd', taskId: 't', logicalDate: '2016-01-01 00:00:00+00:00' }
    const planned = planAirflowRetries(settings({ retryDelay: 60, retryExponentialBackoff: 3, retries: 2 }), task)
    expect(planned[1]).toMatchObject({ retry: 2, delaySeconds: 337, earliestSeconds: 180, latestSeconds: 359 })
    expect(planned[1]!.elapsedSeconds).toBe(planned[0]!.delaySeconds + 337)
  })
})
