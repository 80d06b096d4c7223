import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startPartitionProxy, type PartitionProxy, type Passage } from '../../support/agents/partition-proxy.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { endKernelsOf, lives, notingProgram } from './kernel-notes.ts'
import { startRemoteFleet, type RemoteFleet } from './remote-fleet.ts'

/** A server with the agent "cut-off", whose line a proxy can cut, and "beside", which has its own and takes retries. */
export interface PartitionedFleet {
  fleet: RemoteFleet
  proxy: PartitionProxy
  startCutOff(fenceAfterMs: number): Promise<void>
  startBeside(): Promise<void>
  /** Starts a session that runs on "cut-off" and notes when it lives; its retries are short. @returns its id */
  startNoting(name: string, turns: { first: number; later: number }): Promise<string>
}

/** Makes one for the tests of a file. */
export function usePartitionedFleet(use: (partitioned: PartitionedFleet) => void): void {
  let partitioned: PartitionedFleet | undefined
  let agents: SpawnedProgram[] = []

  beforeAll(async () => {
    const fleet = await startRemoteFleet()
    const proxy = await startPartitionProxy(fleet.url)
    // An agent stays with its token.
    const tokens = { cutOff: await fleet.token(), beside: await fleet.token() }
    partitioned = {
      fleet,
      proxy,
      // Agents learn of the fence as they register.
      async startCutOff(fenceAfterMs) {
        await fleet.sql(`UPDATE resource_groups SET fence_after_ms = ${fenceAfterMs}, stop_grace_ms = 1000`)
        agents = [await fleet.startAgent({ name: 'cut-off', url: proxy.url, token: tokens.cutOff })]
      },
      async startBeside() {
        agents.push(await fleet.startAgent({ name: 'beside', token: tokens.beside }))
      },
      async startNoting(name, turns) {
        const id = await fleet.createSession({
          command: ['sh', '-c', notingProgram(fleet, name, turns)],
          retryPolicy: { maxRetries: 2, retryDelay: 0.1, jitter: 'NONE' },
        })
        await fleet.until(id, ([first]) => first!.status === 'RUNNING')
        await eventually(async () => (await lives(fleet, name)).length === 1)
        return id
      },
    }
    use(partitioned)
  })
  afterEach(async () => {
    if (!partitioned) return
    partitioned.proxy.set('open')
    await endKernelsOf(partitioned.fleet)
    await Promise.all(agents.map((agent) => agent.stop()))
  })
  afterAll(async () => {
    await partitioned?.fleet[Symbol.asyncDispose]()
    await partitioned?.proxy.close()
  })
}

export const succeeded = (chain: { status: string }[]) => chain.at(-1)!.status === 'TERMINATED'

/** Takes the line away for longer than lease and fence: one attempt has ended before the next one lives. */
export async function expectRetryElsewhere(partitioned: PartitionedFleet, passage: Passage): Promise<void> {
  const { fleet, proxy, startCutOff, startBeside, startNoting } = partitioned
  await startCutOff(6_000)
  const name = `long-${passage}`
  const id = await startNoting(name, { first: 2_000, later: 5 })
  await startBeside()
  proxy.set(passage)
  const chain = await fleet.until(id, succeeded)
  // It is still cut off: the agent stopped its kernel by itself, and nobody told the server.
  expect(chain).toMatchObject([
    { attempt: 1, status: 'ERROR', failureCause: 'AGENT_TRANSIENT', kernels: [{ agent: { name: 'cut-off' } }] },
    { attempt: 2, status: 'TERMINATED', kernels: [{ agent: { name: 'beside' } }] },
  ])
  const [first, second] = await lives(fleet, name)
  expect(first!.told).toBe(true)
  expect(second!.firstAt).toBeGreaterThan(first!.lastAt)
  expect(await fleet.agentStatus('cut-off')).toBe('LOST')

  proxy.set('open')
  await eventually(async () => (await fleet.agentStatus('cut-off')) === 'ALIVE', { withinMs: 120_000 })
  expect(await fleet.chain(id)).toHaveLength(2)
  expect(await lives(fleet, name)).toHaveLength(2)
}
