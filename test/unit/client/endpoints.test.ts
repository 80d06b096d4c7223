import { beforeEach, expect, test } from 'vitest'
import { createEndpoints, type Endpoint, type Endpoints } from '../../../src/client/transport/endpoints.ts'

let now: number
let endpoints: Endpoints
const names = (endpoint: Endpoint | null) => endpoint?.url.hostname ?? null

beforeEach(() => {
  now = 1_000_000
  endpoints = createEndpoints([new URL('http://a/'), new URL('http://b/'), new URL('http://c/')], () => now)
})

test('the first is asked as long as it answers', () => {
  const first = endpoints.choose()!
  endpoints.answered(first)
  expect(names(endpoints.choose())).toBe('a')
})

test('one that fails is left alone for 1 s, 2 s, 4 s, … up to 60 s, and an answer forgives it', () => {
  const first = endpoints.choose()!
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    endpoints.failed(first)
    now += seconds * 1000 - 1
    expect(names(endpoints.choose())).toBe('b')
    now += 1
    expect(names(endpoints.choose())).toBe('a')
  }
  endpoints.answered(first)
  endpoints.failed(first)
  now += 1000
  expect(names(endpoints.choose())).toBe('a')
})

test('one that names a time is left alone for that', () => {
  endpoints.failed(endpoints.choose()!, 30)
  now += 29_999
  expect(names(endpoints.choose())).toBe('b')
})

test('each is asked once; where all rest, the one whose rest ends first is, and nobody else', () => {
  const asked = new Set<Endpoint>()
  for (const name of ['a', 'b', 'c']) {
    const next = endpoints.choose(asked)!
    expect(names(next)).toBe(name)
    endpoints.failed(next)
    asked.add(next)
    now += 1
  }
  expect(endpoints.choose(asked)).toBeNull()
  expect(endpoints.anyRested()).toBe(false)
  const soonest = endpoints.choose()!
  expect(names(soonest)).toBe('a')
  expect(endpoints.choose(new Set([soonest]))).toBeNull()
})
