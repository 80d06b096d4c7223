import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type PartitionProxy, startPartitionProxy } from '../../support/agents/partition-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, type RemoteFleet, type Seen, startRemoteFleet } from './remote-fleet.ts'
import { expectRetryElsewhere, type PartitionedFleet, usePartitionedFleet } from './partitioned-fleet.ts'

describe('time limits', () => {
  /**
   * A program ends around its batch timeout while its agent stands still, is cut off or is not there, or while there is no
   * server. The database's clock goes ahead where a limit has to pass for the server alone.
   */

  const LIMIT_SECONDS = 30

  let fleet: RemoteFleet
  let proxy: PartitionProxy
  let agent: SpawnedProgram
  let token: string
  let tests = 0

  beforeAll(async () => {
    fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
    proxy = await startPartitionProxy(fleet.url)
    token = await fleet.token()
    agent = await startAgent()
  })
  afterEach(() => proxy.set('open'))
  afterAll(async () => {
    await endKernelsOf(fleet)
    await fleet[Symbol.asyncDispose]()
    await proxy.close()
  })

  const startAgent = () => fleet.startAgent({ name: 'limited', url: proxy.url, token })

  interface Work {
    id: string
    runs(): string[]
    /** Its program ends with success, and its shim has written that down. */
    ends(): Promise<void>
  }

  /** @param program what it does until it ends with success; missing: it waits to be told */
  async function begin({ batchTimeout = LIMIT_SECONDS, program = '' } = {}): Promise<Work> {
    const [go, runs] = ['go', 'runs'].map((what) => join(fleet.shared, `${what}-${++tests}`)) as [string, string]
    const id = await fleet.createSession({
      command: [
        'sh',
        '-c',
        `echo $$ >>${runs}; ${program || `until [ -e ${go} ]; do sleep 0.05; done`}; echo done; exit 0`,
      ],
      batchTimeout,
      retryPolicy: { maxRetries: 1, retryDelay: 0.1, jitter: 'NONE' },
    })
    await fleet.until(id, ([first]) => first!.status === 'RUNNING')
    return {
      id,
      runs: () => (existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : []),
      async ends() {
        writeFileSync(go, '')
        await hasEnded()
      },
    }
  }

  /** In the one directory of a kernel that there is. */
  function hasEnded(): Promise<unknown> {
    const kernels = join(fleet.agentDir('limited'), 'kernels')
    const statuses = () => readdirSync(kernels).map((name) => readFileSync(join(kernels, name, 'status'), 'latin1'))
    return eventually(() => statuses().some((status) => /^exit 0$/m.test(status)))
  }

  /** The limit passes by the server's clock, and it orders the stop. */
  async function serverTimesOut({ id }: Work): Promise<void> {
    await fleet.sql(`SELECT seeds.move_clock('${LIMIT_SECONDS + 1} s')`)
    await fleet.until(id, ([first]) => first!.status === 'TERMINATING')
  }

  async function expectSuccess({ id, runs }: Work): Promise<void> {
    const [first, ...others] = await fleet.until(id, ([one]) => isOver(one!) && one!.retryState.phase !== 'UNDECIDED')
    expect(first).toMatchObject({ status: 'TERMINATED', result: 'SUCCESS', retryState: { phase: 'SUCCEEDED' } })
    expect(others).toEqual([])
    expect(runs()).toHaveLength(1)
  }

  async function expectTimeout({ id }: Work): Promise<void> {
    const [first] = await fleet.until(id, (chain) => isOver(chain[0]!) && chain.length === 2)
    expect(first).toMatchObject({ status: 'ERROR', result: 'FAILURE', failureCause: 'KERNEL_NONZERO_EXIT' })
    const [row] = await fleet.sql(`SELECT status_data #>> '{error,name}' AS name FROM sessions WHERE id = '${id}'`)
    expect(row).toEqual({ name: 'task-timeout' })
    await fleet.graphql(
      'mutation ($input: TerminateSessionInput!) { terminateSession(input: $input) { __typename } }',
      {
        input: { sessionId: id, force: true },
      },
    )
    await fleet.until(id, (chain) => isOver(chain.at(-1)!))
  }

  const isOver = ({ status }: Seen) => status === 'TERMINATED' || status === 'ERROR' || status === 'CANCELLED'

  test('a program that ended in time has succeeded, even if its agent stood still over the limit', async () => {
    const work = await begin()
    process.kill(agent.pid, 'SIGSTOP')
    try {
      await work.ends()
      await serverTimesOut(work)
    } finally {
      // It finds the order to stop and the end of the program at once.
      process.kill(agent.pid, 'SIGCONT')
    }
    await expectSuccess(work)
  })

  test.each(['stalled', 'cut', 'deaf'] as const)(
    'a program that ended in time has succeeded, even if the connection was %s over the limit',
    async (passage) => {
      const work = await begin()
      proxy.set(passage)
      await work.ends()
      await serverTimesOut(work).catch((error: unknown) => {
        // The server may have heard of the end before.
        if (passage !== 'deaf') throw error
      })
      proxy.set('open')
      await expectSuccess(work)
    },
  )

  test('a program that ended in time has succeeded, even if its agent restarted over the limit', async () => {
    const work = await begin()
    await agent.kill()
    await work.ends()
    await serverTimesOut(work)
    agent = await startAgent()
    await expectSuccess(work)
  })

  test('a program that ended in time has succeeded, even if no server ran over the limit', async () => {
    const work = await begin()
    proxy.set('cut')
    await fleet.server.kill()
    await work.ends()
    await fleet.sql(`SELECT seeds.move_clock('${LIMIT_SECONDS + 1} s')`)
    await fleet.restartServer()
    // It acts before it hears from the agent.
    await fleet.until(work.id, ([first]) => first!.status === 'TERMINATING')
    proxy.set('open')
    await expectSuccess(work)
  })

  test('a program that ran longer than its limit has timed out, even if nothing could stop it', async () => {
    const work = await begin({
      batchTimeout: 1,
      program: 'if [ "$REPRISE_ATTEMPT" = 1 ]; then sleep 2; else sleep 1000; fi',
    })
    proxy.set('stalled')
    await hasEnded()
    await fleet.until(work.id, ([first]) => first!.status === 'TERMINATING')
    proxy.set('open')
    await expectTimeout(work)
  })

  test('a program that ran longer than its limit has timed out, even if no server ran to stop it', async () => {
    const work = await begin({
      batchTimeout: 1,
      program: 'if [ "$REPRISE_ATTEMPT" = 1 ]; then sleep 2; else sleep 1000; fi',
    })
    await fleet.server.kill()
    await hasEnded()
    await fleet.restartServer()
    await expectTimeout(work)
  })
})

describe('cut off agent', () => {
  /** Never two live attempts, with real processes: the kernels themselves note when they lived. */

  let partitioned: PartitionedFleet
  usePartitionedFleet((made) => (partitioned = made))

  test('an agent that is cut off for longer than lease and fence stops its kernels before the retry runs elsewhere', () =>
    expectRetryElsewhere(partitioned, 'cut'))
})
