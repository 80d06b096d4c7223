import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually, pause } from '../../support/eventually.ts'
import { startPartitionProxy, type PartitionProxy, type Passage } from '../../support/agents/partition-proxy.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { SHORT_LEASE, startRemoteFleet, type RemoteFleet } from './remote-fleet.ts'
import { endKernelsOf, lives, notingProgram } from './kernel-notes.ts'

/**
 * The way between a server and the agent "cut-off" is taken away; "beside" has its own way, and takes retries. The
 * kernels themselves note when they lived: no two attempts of a chain ever do at once.
 */

let fleet: RemoteFleet
let proxy: PartitionProxy
let agents: SpawnedProgram[] = []
/** An agent stays with its token. */
let tokens: { cutOff: string; beside: string }

beforeAll(async () => {
  fleet = await startRemoteFleet()
  proxy = await startPartitionProxy(fleet.url)
  tokens = { cutOff: await fleet.token(), beside: await fleet.token() }
})
afterEach(async () => {
  proxy.set('open')
  await endKernelsOf(fleet)
  await Promise.all(agents.map((agent) => agent.stop()))
})
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]()
  await proxy?.close()
})

/** Agents learn of the fence as they register. */
async function startCutOff(fenceAfterMs: number): Promise<void> {
  await fleet.sql(`UPDATE resource_groups SET fence_after_ms = ${fenceAfterMs}, stop_grace_ms = 1000`)
  agents = [await fleet.startAgent({ name: 'cut-off', url: proxy.url, token: tokens.cutOff })]
}

async function startBeside(): Promise<void> {
  agents.push(await fleet.startAgent({ name: 'beside', token: tokens.beside }))
}

/** A session that runs on "cut-off", and whose retries run short. */
async function startNoting(name: string, turns: { first: number; later: number }): Promise<string> {
  const id = await fleet.createSession({
    command: ['sh', '-c', notingProgram(fleet, name, turns)],
    retryPolicy: { maxRetries: 2, retryDelay: 0.1, jitter: 'NONE' },
  })
  await fleet.until(id, ([first]) => first!.status === 'RUNNING')
  await eventually(async () => (await lives(fleet, name)).length === 1)
  return id
}

const succeeded = (chain: { status: string }[]) => chain.at(-1)!.status === 'TERMINATED'

describe('a way that is', () => {
  test.each<Passage>(['cut', 'stalled', 'deaf'])('%s for less than the lease costs nothing', async (passage) => {
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

  // Not deaf: the server would hear the agent tell that it has stopped them.
  test.each<Passage>(['cut', 'stalled'])(
    '%s for longer than lease and fence: the agent stops its kernels, and the retry runs elsewhere',
    async (passage) => {
      await startCutOff(6_000)
      const name = `long-${passage}`
      const id = await startNoting(name, { first: 2_000, later: 5 })
      await startBeside()
      proxy.set(passage)
      const cutAt = Date.now()
      const chain = await fleet.until(id, succeeded)
      // It is still cut off: the agent stopped its kernel by itself, and nobody told the server.
      expect(chain).toMatchObject([
        { attempt: 1, status: 'ERROR', failureCause: 'AGENT_TRANSIENT', kernels: [{ agent: { name: 'cut-off' } }] },
        { attempt: 2, status: 'TERMINATED', kernels: [{ agent: { name: 'beside' } }] },
      ])
      const [first, second] = await lives(fleet, name)
      expect(first!.told).toBe(true)
      expect(second!.firstAt).toBeGreaterThan(first!.lastAt)
      expect(second!.firstAt - cutAt).toBeGreaterThan(6_000)
      expect(await fleet.agentStatus('cut-off')).toBe('LOST')

      proxy.set('open')
      await eventually(async () => (await fleet.agentStatus('cut-off')) === 'ALIVE', { withinMs: 120_000 })
      expect(await fleet.chain(id)).toHaveLength(2)
      expect(await lives(fleet, name)).toHaveLength(2)
    },
  )
})

test('an agent that returns before its fence stops what is no longer its own, and only then the retry runs', async () => {
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
