import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { isHealthPath } from '../../../src/domain/deployment/health.ts'
import { rolloutBounds } from '../../../src/domain/deployment/plan-replicas.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('bounds of an update', () => {
  it.each([
    [0, null, null, 0, 1],
    [1, null, null, 1, 1],
    [3, null, null, 3, 1],
    [4, null, null, 3, 1],
    [10, null, null, 8, 3],
    [4, 4, 2, 4, 2],
    [4, 0, 0, 0, 0],
    [2, 5, 1, 2, 1],
    [3, null, 0, 2, 0],
    [2, 5, 0, 1, 0],
    [0, null, 0, 0, 0],
  ])('of %d replicas, %j healthy, surge %j: %d and %d', (replicas, minHealthy, maxSurge, least, surge) => {
    expect(rolloutBounds({ replicas, minHealthy, maxSurge })).toEqual({ minHealthy: least, maxSurge: surge })
  })

  test('always leave room for a step, and never ask for more healthy ones than are wanted', () => {
    const counts = fc.nat({ max: 1_000 })
    const optional = fc.option(counts)
    checkProperty(
      fc.property(counts, optional, optional, (replicas, minHealthy, maxSurge) => {
        const bounds = rolloutBounds({ replicas, minHealthy, maxSurge })
        expect(bounds.minHealthy).toBeLessThanOrEqual(replicas)
        expect(bounds.minHealthy).toBeGreaterThanOrEqual(0)
        if (replicas > 0) expect(bounds.maxSurge + replicas - bounds.minHealthy).toBeGreaterThan(0)
      }),
    )
  })
})

describe('a health path', () => {
  it.each(['/', '/healthz', '/a/b?ready=1&x=%20', '/~user/[x]'])('may be %s', (path) => {
    expect(isHealthPath(path)).toBe(true)
    expect(new URL(path, 'http://127.0.0.1:1').host).toBe('127.0.0.1:1')
  })

  it.each(['', 'healthz', '//elsewhere/', '/\\elsewhere', '/a b', '/a#b', '/ä', '/a\r\nHost: b', '/\0', 'http://b/'])(
    'may not be %j',
    (path) => expect(isHealthPath(path)).toBe(false),
  )
})
