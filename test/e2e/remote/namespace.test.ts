import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { skipReason } from '../../support/distribution.ts'
import { eventually } from '../../support/eventually.ts'
import { layCable, whyNoNamespaces, type Cable } from '../../support/agents/network-namespace.ts'
import { startRemoteFleet, type RemoteFleet } from './remote-fleet.ts'
import { endKernelsOf, lives, notingProgram } from './kernel-notes.ts'

/** An agent on a network of its own, whose cable to the server is pulled: packets vanish, and no connection is told. */

const why = skipReason('network-namespaces', whyNoNamespaces())

describe.skipIf(why !== null)(`in a network namespace${why === null ? '' : ` (skipped: ${why})`}`, () => {
  let cable: Cable
  let fleet: RemoteFleet

  beforeAll(async () => {
    cable = await layCable()
    fleet = await startRemoteFleet({ host: cable.address })
  })
  afterAll(async () => {
    await cable.set('up')
    await endKernelsOf(fleet)
    await fleet[Symbol.asyncDispose]()
    await cable.remove()
  })

  test('an agent whose cable is pulled stops its kernels, and comes back when it is plugged in', async () => {
    await fleet.sql('UPDATE resource_groups SET fence_after_ms = 6000, stop_grace_ms = 1000')
    const { through, plug: spawned } = cable
    await fleet.startAgent({ name: 'cut-off', token: await fleet.token(), through, spawned })
    const command = ['sh', '-c', notingProgram(fleet, 'pulled', { first: 2_000, later: 5 })]
    const retryPolicy = { maxRetries: 2, retryDelay: 0.1, jitter: 'NONE' }
    const id = await fleet.createSession({ command, retryPolicy })
    await eventually(async () => (await lives(fleet, 'pulled')).length === 1, { withinMs: 120_000 })
    await fleet.until(id, ([first]) => first!.status === 'RUNNING')
    await fleet.startAgent({ name: 'beside', token: await fleet.token() })

    await cable.set('down')
    const chain = await fleet.until(id, (attempts) => attempts.at(-1)!.status === 'TERMINATED')
    expect(chain).toMatchObject([
      { status: 'ERROR', failureCause: 'AGENT_TRANSIENT', kernels: [{ agent: { name: 'cut-off' } }] },
      { status: 'TERMINATED', kernels: [{ agent: { name: 'beside' } }] },
    ])
    const [first, second] = await lives(fleet, 'pulled')
    expect(first!.told).toBe(true)
    expect(second!.firstAt).toBeGreaterThan(first!.lastAt)

    await cable.set('up')
    await eventually(async () => (await fleet.agentStatus('cut-off')) === 'ALIVE', { withinMs: 120_000 })
    expect(await lives(fleet, 'pulled')).toHaveLength(2)
  })
})
