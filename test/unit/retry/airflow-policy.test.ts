import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  AIRFLOW_RELEASES,
  type AirflowSettings,
  convertAirflowSettings,
  parseAirflowSettings,
  planAirflowRetries,
} from '../../../src/domain/retry/airflow.ts'
import { parseRetryPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { previewRetries } from '../../../src/domain/retry/preview.ts'
import { checkProperty } from '../../support/seeds.ts'

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

  it('that is always valid, and as long as what Airflow plans', () => {
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
        for (const [index, airflow] of theirs.entries()) {
          const retry = ours[index]!
          // Before 2.6 Airflow had no such ceiling, which the explanation says.
          if (airflow.latestSeconds > 86_400) {
            expect(retry.latestSeconds).toBe(86_400)
            continue
          }
          expect(retry.earliestSeconds).toBe(airflow.earliestSeconds)
          // Airflow adds whole seconds, so its last one is up to a second earlier.
          expect(retry.latestSeconds - airflow.latestSeconds).toBeGreaterThanOrEqual(0)
          expect(retry.latestSeconds - airflow.latestSeconds).toBeLessThanOrEqual(1)
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
