import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createChainReports } from '../../../src/agent/chain-reports.ts'
import { CHAIN_REPORT_INTERVAL_MS, DROPPED_CHAINS_MAX } from '../../../src/domain/limits.ts'

const log = pino({ enabled: false })

function subject(stored: string[], atOnceMax = 10) {
  const clock = { now: 0 }
  const chains = {
    store: '00000000-0000-4000-8000-000000000000',
    list: async () => stored.map((chainId) => ({ chainId, oldest: 0 })),
    isUncounted: false,
    measure: async () => [],
    drop: (id: string) => stored.includes(id) && stored.splice(stored.indexOf(id), 1).length > 0,
  }
  const reports = createChainReports(chains, log, { now: () => clock.now, atOnceMax })
  const next = async () => {
    reports.next()
    await turn()
    return reports.next()
  }
  return { clock, reports, next, stored }
}

test('all directories are reported at the start and then hourly, each report until it is answered', async () => {
  const { clock, reports, next } = subject(['a', 'b'])
  const first = await next()
  expect(first).toEqual({ after: null, upTo: null, chainIds: ['a', 'b'] })
  expect(await next()).toBe(first)
  reports.answered(first!, { dropChains: ['b'] })
  clock.now = CHAIN_REPORT_INTERVAL_MS - 1
  expect(await next()).toBeUndefined()
  clock.now++
  expect(await next()).toEqual({ after: null, upTo: null, chainIds: ['a'] })
})

test('many are reported in parts, and all of them again to a server that knows nothing', async () => {
  const { reports, next } = subject(['a', 'b', 'c'], 2)
  const first = await next()
  expect(first).toEqual({ after: null, upTo: 'b', chainIds: ['a', 'b'] })
  reports.answered(first!, {})
  expect(await next()).toEqual({ after: 'b', upTo: null, chainIds: ['c'] })
  reports.restart()
  expect(await next()).toEqual(first)
})

test('where an answer names as many as it may, the same part is reported again, unless none could be dropped', async () => {
  const ids = Array.from({ length: DROPPED_CHAINS_MAX + 1 }, (_, index) => `chain-${index}`)
  const { reports, next, stored } = subject([...ids], 10_000)
  reports.answered((await next())!, { dropChains: ids.slice(0, DROPPED_CHAINS_MAX) })
  expect(stored).toHaveLength(1)
  const second = await next()
  expect(second?.chainIds).toEqual(stored)
  reports.answered(second!, { dropChains: ids.slice(0, DROPPED_CHAINS_MAX) })
  expect(await next()).toBeUndefined()
})

test('nothing is told of an executor that keeps nothing', () => {
  expect(createChainReports(undefined, log).next()).toBeUndefined()
})
