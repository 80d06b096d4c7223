import { describe, expect, test } from 'vitest'
import { eventually, pause } from '../../support/eventually.ts'
import type { Passage } from '../../support/agents/partition-proxy.ts'
import { lives } from './kernel-notes.ts'
import { expectRetryElsewhere, type PartitionedFleet, succeeded, usePartitionedFleet } from './partitioned-fleet.ts'
import { SHORT_LEASE } from './remote-fleet.ts'

/**
 * The way between a server and the agent "cut-off" is taken away; "beside" has its own way, and takes retries. The
 * kernels themselves note when they lived: no two attempts of a chain ever do at once.
 */

let partitioned: PartitionedFleet
usePartitionedFleet((made) => (partitioned = made))

describe('a way that is', () => {
  test.each<Passage>(['cut', 'stalled', 'deaf'])('%s for less than the lease costs nothing', async (passage) => {
    const { fleet, proxy, startCutOff, startNoting } = partitioned
    await startCutOff(30_000)
    const name = `short-${passage}`
    const id = await startNoting(name, { first: 80, later: 1 })
    proxy.set(passage)
    await pause(1_500)
    proxy.set('open')
    const chain = await fleet.until(id, succeeded)
    expect(chain).toMatchObject([{ attempt: 1, status: 'TERMINATED', kernels: [{ agent: { name: 'cut-off' } }] }])
    expect(await lives(fleet, name)).toMatchObject([{ attempt: 1, told: false }])
  })

  // Not deaf: the server would hear the agent report that it has stopped them.
  test('stalled for longer than lease and fence: the agent stops its kernels, and the retry runs elsewhere', () =>
    expectRetryElsewhere(partitioned, 'stalled'))
})

test('an agent that returns before its fence stops what is no longer its own, and only then the retry runs', async () => {
  const { fleet, proxy, startCutOff, startBeside, startNoting } = partitioned
  await startCutOff(60_000)
  const id = await startNoting('returns', { first: 2_000, later: 5 })
  proxy.set('cut')
  const [lost] = await fleet.until(id, ([first]) => first!.retryState.phase === 'HELD')
  expect(lost).toMatchObject({ status: 'ERROR', failureCause: 'AGENT_TRANSIENT' })
  // It is not known to be gone, and it is not: it lives and notes it.
  await pause(SHORT_LEASE.fenceMarginMs)
  const [alive] = await lives(fleet, 'returns')
  await eventually(async () => (await lives(fleet, 'returns'))[0]!.lastAt > alive!.lastAt)
  expect(await fleet.chain(id)).toHaveLength(1)

  proxy.set('open')
  await startBeside()
  await fleet.until(id, succeeded)
  const [first, second] = await lives(fleet, 'returns')
  expect(second!.firstAt).toBeGreaterThan(first!.lastAt)
  expect(await fleet.agentStatus('cut-off')).toBe('ALIVE')
})
