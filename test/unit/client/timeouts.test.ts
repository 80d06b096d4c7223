import { expect, test } from 'vitest'
import { readEnvironment } from '../../../src/client/node/environment.ts'
import { resolveRetry, resolveTimeouts, RETRY_DEFAULTS, type TimeoutOptions } from '../../../src/client/settings.ts'
import vectors from './vectors/client-retry.json' with { type: 'json' }

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
