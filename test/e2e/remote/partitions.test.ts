import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, pause } from '../../support/eventually.ts'
import { type PartitionProxy, type Passage, startPartitionProxy } from '../../support/agents/partition-proxy.ts'
import { endKernelsOf, lives, notingProgram } from './kernel-notes.ts'
import { expectRetryElsewhere, type PartitionedFleet, succeeded, usePartitionedFleet } from './partitioned-fleet.ts'
import { type RemoteFleet, SHORT_LEASE, startRemoteFleet } from './remote-fleet.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { processesIn } from '../../integration/agent/processes.ts'

describe('partitions', () => {
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

  test('an agent that returns before its fence stops kernels that it has lost, and only then the retry runs', async () => {
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
})

describe('standstill', () => {
  /**
   * Agents and their fork servers are stopped or killed while each has a kernel; another agent takes the retries. The
   * kernels themselves note when they lived.
   */

  const FENCE_AFTER_MS = 6_000

  interface Victim {
    agent: SpawnedProgram
    forkServer: number
    /** The agent and everything that runs in its directory: fork server, keeper, shim, kernel. */
    all(): number[]
  }

  let fleet: RemoteFleet
  let proxy: PartitionProxy
  const victims = new Map<string, Victim>()

  function signal(name: NodeJS.Signals, ...pids: number[]): void {
    for (const pid of pids) {
      try {
        process.kill(pid, name)
      } catch (error) {
        // It has ended by itself, as the kernel's short sleeps do.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }

  /**
   * A process that is not stopped yet may start another. One in state D that has the signal starts none: it stops when
   * it leaves that state, which after `vfork` is when its child goes on.
   */
  async function stopAll({ all }: Victim): Promise<void> {
    signal('SIGSTOP', ...all())
    await eventually(() => {
      const running = all().filter((pid) => 'SR'.includes(readProcStat(pid)?.state ?? 'X'))
      signal('SIGSTOP', ...running)
      return running.length === 0
    })
  }

  const MISDEEDS: Record<string, (victim: Victim) => void | Promise<void>> = {
    'agent stopped': ({ agent }) => signal('SIGSTOP', agent.pid),
    'agent killed': ({ agent }) => signal('SIGKILL', agent.pid),
    'fork server killed': ({ forkServer }) => (signal('SIGKILL', forkServer), proxy.set('cut')),
    'both killed': ({ agent, forkServer }) => signal('SIGKILL', agent.pid, forkServer),
    'both stopped': ({ agent, forkServer }) => signal('SIGSTOP', agent.pid, forkServer),
    suspended: stopAll,
  }

  beforeAll(async () => {
    fleet = await startRemoteFleet()
    proxy = await startPartitionProxy(fleet.url)
    await fleet.sql(`UPDATE resource_groups SET fence_after_ms = ${FENCE_AFTER_MS}, stop_grace_ms = 1000`)
  })
  afterAll(async () => {
    for (const { all } of victims.values()) signal('SIGCONT', ...all())
    proxy.set('open')
    await endKernelsOf(fleet)
    const dirs = [...victims.keys()].map((name) => fleet.agentDir(nameOf(name)))
    await fleet[Symbol.asyncDispose]()
    await proxy.close()
    await eventually(() => dirs.every((dir) => processesIn(dir).length === 0), { withinMs: 120_000 })
  })

  async function startVictim(name: string): Promise<void> {
    const url = name === 'fork server killed' ? proxy.url : fleet.url
    const agent = await fleet.startAgent({ name: nameOf(name), url, token: await fleet.token() })
    const forkServer = Number(readFileSync(join(fleet.agentDir(nameOf(name)), 'nursery'), 'latin1'))
    const all = () => [agent.pid, ...processesIn(fleet.agentDir(nameOf(name))).map(Number)]
    victims.set(name, { agent, forkServer, all })
  }

  const nameOf = (name: string) => name.replaceAll(' ', '-')

  /** Each needs all slots of an agent. */
  async function startNoting(name: string): Promise<string> {
    return fleet.createSession({
      command: ['sh', '-c', notingProgram(fleet, nameOf(name), { first: 2_000, later: 5 })],
      environ: [{ name: 'VICTIM', value: nameOf(name) }],
      resourceSlots: [{ slot: 'cpu', amount: '2' }],
      retryPolicy: { maxRetries: 9, retryDelay: 0.1, jitter: 'NONE' },
    })
  }

  test('two attempts are never alive together, whichever process stands still or dies', async () => {
    const sessions = new Map<string, string>()
    for (const name of Object.keys(MISDEEDS)) {
      await startVictim(name)
      // It is the only one with free capacity.
      const id = await startNoting(name)
      sessions.set(name, id)
      await fleet.until(id, ([first]) => first!.status === 'RUNNING')
      await eventually(async () => (await lives(fleet, nameOf(name))).length === 1)
    }
    await fleet.startAgent({ name: 'beside', token: await fleet.token() })
    for (const [name, misdeed] of Object.entries(MISDEEDS)) await misdeed(victims.get(name)!)

    for (const [name, id] of sessions) {
      const chain = await fleet.until(id, (attempts) => attempts.at(-1)!.status === 'TERMINATED')
      expect([name, chain[0]]).toMatchObject([name, { kernels: [{ agent: { name: nameOf(name) } }] }])
      // On a machine too busy for its leases, a retry may run beside another victim, and be lost with it.
      const causes = chain.slice(0, -1).map(({ failureCause }) => failureCause)
      expect([name, new Set(causes)]).toEqual([name, new Set(['AGENT_TRANSIENT'])])
      const alive = await lives(fleet, nameOf(name))
      expect(alive.length).toBeGreaterThan(1)
      for (const [index, { firstAt }] of alive.entries()) {
        const gone = alive[index - 1]?.lastAt ?? Number.NEGATIVE_INFINITY
        expect([name, firstAt - gone]).toEqual([name, expect.toSatisfy((ms: number) => ms > 0)])
      }
    }

    // What can be had from user space: the fence is looked at within a quarter of a second of running again. A busy
    // machine makes longer ones of the kernel's turns, too.
    const suspended = victims.get('suspended')!
    const resumedAt = Date.now()
    signal('SIGCONT', ...suspended.all())
    const dir = fleet.agentDir('suspended')
    await eventually(() => !processesIn(join(dir, 'kernels')).some((pid) => isKernel(pid)))
    const [first] = await lives(fleet, 'suspended')
    expect(first!.times.filter((at) => at > resumedAt).length).toBeLessThanOrEqual(10)
  })

  function isKernel(pid: string): boolean {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes('VICTIM=')
    } catch {
      return false
    }
  }
})
