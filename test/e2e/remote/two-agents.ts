import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Lease } from '../../../src/domain/agent/lease.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { type RemoteFleet, startRemoteFleet } from './remote-fleet.ts'

/** A server and two agents, `one` and `two`, without a common file system. */
export interface TwoAgents {
  fleet: RemoteFleet
  agents: Map<string, SpawnedProgram>
  /** Another takes its place if it runs. */
  startAgent(name: string, environment?: Record<string, string>): Promise<void>
}

/**
 * For the tests of the describe block that calls it.
 *
 * @param fenceAfterMs of their resource group; agents are told when they register
 */
export function useTwoAgents(started: (two: TwoAgents) => void, lease: Lease, fenceAfterMs?: number): void {
  let fleet: RemoteFleet | undefined

  beforeAll(async () => {
    const ours = (fleet = await startRemoteFleet({ lease }))
    const token = await ours.token()
    const agents = new Map<string, SpawnedProgram>()
    async function startAgent(name: string, environment: Record<string, string> = {}): Promise<void> {
      await agents.get(name)?.stop()
      agents.set(name, await ours.startAgent({ name, token, environment }))
    }
    if (fenceAfterMs !== undefined) await ours.sql(`UPDATE resource_groups SET fence_after_ms = ${fenceAfterMs}`)
    for (const name of ['one', 'two']) await startAgent(name)
    started({ fleet: ours, agents, startAgent })
  }, 60_000)
  afterEach(async () => {
    if (fleet !== undefined) await endKernelsOf(fleet)
  })
  afterAll(() => fleet?.[Symbol.asyncDispose]())
}
