import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createChainSizes } from '../../../src/agent/chain-reports.ts'
import { CHAIN_MEASURE_INTERVAL_MS } from '../../../src/domain/limits.ts'

const log = pino({ enabled: false })

function subject(bytes: Record<string, number>, atOnceMax = 10) {
  const clock = { now: 0 }
  const uncounted = new Set<string>()
  const measure = async (all: boolean) => {
    const measured = Object.entries(bytes).filter(([chainId]) => all || uncounted.has(chainId))
    uncounted.clear()
    return measured.map(([chainId, size]) => ({ chainId, generation: 0, bytes: size }))
  }
  const chains = {
    store: 'a',
    list: async () => [],
    drop: () => false,
    get isUncounted() {
      return uncounted.size > 0
    },
    measure,
  }
  const sizes = createChainSizes(chains, log, { now: () => clock.now, atOnceMax })
  const next = async () => {
    sizes.next()
    await turn()
    return sizes.next()?.map((size) => `${size.chainId} ${size.bytes}`)
  }
  return { bytes, uncounted, clock, sizes, next }
}

test('sizes are told at the start and then every few minutes, where they have changed, each until it is answered', async () => {
  const { bytes, clock, sizes, next } = subject({ a: 1, b: 2 })
  expect(await next()).toEqual(['a 1', 'b 2'])
  expect(await next()).toEqual(['a 1', 'b 2'])
  sizes.answered()
  bytes['b'] = 3
  clock.now = CHAIN_MEASURE_INTERVAL_MS - 1
  expect(await next()).toBeUndefined()
  clock.now++
  expect(await next()).toEqual(['b 3'])
})

test('what could not be counted is told at once, and nothing else', async () => {
  const { bytes, uncounted, clock, sizes, next } = subject({ a: 1, b: 2 })
  await next()
  sizes.answered()
  Object.assign(bytes, { a: 5, b: 6 })
  uncounted.add('b')
  expect(await next()).toEqual(['b 6'])
  sizes.answered()
  expect(await next()).toBeUndefined()
  clock.now = CHAIN_MEASURE_INTERVAL_MS
  expect(await next()).toEqual(['a 5'])
})

test('many are told in parts, and all of them again to a server that knows nothing', async () => {
  const { sizes, next } = subject({ a: 1, b: 2, c: 3 }, 2)
  expect(await next()).toEqual(['a 1', 'b 2'])
  sizes.answered()
  expect(await next()).toEqual(['c 3'])
  sizes.restart()
  expect(await next()).toEqual(['a 1', 'b 2'])
})

test('an executor that keeps nothing has nothing to tell', () => {
  expect(createChainSizes(undefined, log).next()).toBeUndefined()
})
