import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLease } from '../../../src/agent/executors/slurm/lease.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { testLog } from './process-fixture.ts'

async function written(...renewals: number[]): Promise<number[]> {
  const root = await temporaryDirectory('lease')
  const lease = openLease(root, testLog)
  for (const leftMs of renewals) lease.renew(leftMs)
  await lease.close()
  const [counter, , ttl] = readFileSync(join(root, 'lease'), 'utf8').trim().split(' ').map(Number)
  expect(lease.ttlSeconds).toBe(ttl)
  return [counter!, ttl!]
}

test('what the server says while the lease is being written counts as well', async () => {
  expect(await written(600_000, 32_000)).toEqual([2, 12])
})

test('of several words meanwhile the last one counts', async () => {
  expect(await written(600_000, 500_000, 400_000, 32_000)).toEqual([2, 12])
})

test('the same word again is not written again so soon', async () => {
  expect(await written(600_000, 600_000, 600_500)).toEqual([1, 580])
})

test('a fence that is too short leaves the lease as it is', async () => {
  expect(await written(600_000, 20_000)).toEqual([1, 580])
})
