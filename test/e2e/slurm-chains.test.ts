import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { sharedSlurmCluster } from '../support/slurm/shared-cluster.ts'
import { type SlurmCluster, whyNoSlurmCluster } from '../support/slurm/slurm-cluster.ts'
import { type SlurmServer, startSlurmServer } from './slurm-server.ts'
import { expectUploadToRun } from './uploaded-files.ts'

const missing = whyNoSlurmCluster()

const STATE = 'query ($id: UUID!) { session(id: $id) { status childSession { status attempt } } }'

interface State {
  status: string
  childSession: { status: string; attempt: number } | null
}

/** A busy machine takes its time to start a job. */
const SLOWLY_MS = 120_000
const LONG = { timeout: 400_000 }

describe.skipIf(missing !== null)(`chains on Slurm${missing === null ? '' : `: ${missing}`}`, LONG, () => {
  let cluster: SlurmCluster
  let server: SlurmServer

  beforeAll(async () => {
    cluster = await sharedSlurmCluster()
    server = await startSlurmServer({ ...cluster, shared: await mkdtemp(join(cluster.shared, 'server-')) })
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  test('what fails is retried as another job, and what runs outlives the server', async () => {
    const retryPolicy = { maxRetries: 2, retryDelay: 0.1 }
    const create = async (name: string, script: string) => {
      const { client } = server
      const { session } = await client.createSession({ name, command: ['sh', '-c', script], retryPolicy })
      return session.sessionId
    }
    const state = async (id: string) => (await server.ask<{ session: State }>(STATE, { id })).session
    const failing = await create('fails-once', 'test "$REPRISE_ATTEMPT" -ge 2')
    const gate = join(await temporaryDirectory('gate'), 'gate')
    const long = await create('outlives', `until [ -e ${gate} ]; do sleep 0.1; done`)
    await eventually(async () => (await state(failing)).childSession?.status === 'TERMINATED', { withinMs: SLOWLY_MS })
    expect(await state(failing)).toMatchObject({ status: 'ERROR', childSession: { attempt: 2 } })
    await eventually(async () => (await state(long)).status === 'RUNNING', { withinMs: SLOWLY_MS })
    await server.restart()
    await writeFile(gate, '')
    await eventually(async () => (await state(long)).status === 'TERMINATED', { withinMs: SLOWLY_MS })
    expect((await state(long)).childSession).toBeNull()
  })

  describe.concurrent('beside each other', () => {
    test('what is uploaded runs in each attempt', async () => {
      await expectUploadToRun({ REPRISE_URL: server.url, REPRISE_DATA_DIR: server.dataDir })
    })

    test('a session of several kernels is one job, each time that it is tried', async () => {
      const { client } = server
      const { session } = await client.createSession({
        name: 'several',
        command: ['sh', '-c', 'test "$REPRISE_ATTEMPT$REPRISE_CLUSTER_RANK" != 10'],
        clusterSize: 3,
        retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
      })
      const query = `query ($id: UUID!) { session(id: $id) { kernels { exitCode slurmJobId }
        childSession { status kernels { exitCode slurmJobId } } } }`
      interface Attempt {
        kernels: { exitCode: number | null; slurmJobId: string }[]
        childSession: (Attempt & { status: string }) | null
      }
      const read = async () => (await server.ask<{ session: Attempt }>(query, { id: session.sessionId })).session
      await eventually(async () => (await read()).childSession?.status === 'TERMINATED', { withinMs: SLOWLY_MS })
      const { kernels, childSession } = await read()
      expect(kernels).toHaveLength(3)
      expect(kernels.map(({ exitCode }) => exitCode)).toContain(1)
      expect(childSession!.kernels.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
      const [first, second] = [kernels, childSession!.kernels].map((all) => new Set(all.map((one) => one.slurmJobId)))
      expect([first!.size, second!.size]).toEqual([1, 1])
      expect(first).not.toEqual(second)
    })

    test('a retry that avoids its agent goes to another node of it, and back when all have failed', async () => {
      const { client } = server
      const { session } = await client.createSession({
        name: 'elsewhere',
        command: ['sh', '-c', 'exit 79'],
        retryPolicy: {
          maxRetries: 3,
          retryDelay: 0.1,
          rules: [{ match: { exitCodes: [79] }, action: 'RETRY', avoid: 'AGENT' }],
        },
      })
      const attempt = '{ status kernels { host }'
      const query = `query ($id: UUID!) { session(id: $id)
        ${attempt} childSession ${attempt} childSession ${attempt} childSession ${attempt} } } } } }`
      interface Attempt {
        status: string
        kernels: { host: string }[]
        childSession?: Attempt | null
      }
      const read = async () => {
        const attempts: Attempt[] = []
        let next: Attempt | null | undefined = (
          await server.ask<{ session: Attempt }>(query, { id: session.sessionId })
        ).session
        for (; next; next = next.childSession) attempts.push(next)
        return attempts
      }
      const hosts = await eventually(
        async () => {
          const attempts = await read()
          return attempts[3]?.status === 'ERROR' && attempts.map(({ kernels }) => kernels[0]!.host)
        },
        { withinMs: SLOWLY_MS },
      )
      const [first, second] = hosts
      expect(second).not.toBe(first)
      expect(hosts).toEqual([first, second, first, second])
    })

    test('what no node can have waits and says so, and what serves ports is refused', async () => {
      const { client } = server
      const large = {
        name: 'large',
        command: ['true'],
        resourceSlots: [{ slot: 'cpu', amount: String(cluster.cpusPerNode + 1) }],
      }
      const { session } = await client.createSession(large)
      const reason = async () => {
        const query = 'query ($id: UUID!) { session(id: $id) { pendingReason } }'
        return (await server.ask<{ session: { pendingReason: string | null } }>(query, { id: session.sessionId }))
          .session
      }
      const words = new RegExp(
        `no machine of resource group default has more than cpu ${cluster.cpusPerNode}, it asks for ${cluster.cpusPerNode + 1}$`,
      )
      await eventually(async () => words.test((await reason()).pendingReason ?? ''), { withinMs: SLOWLY_MS })
      const interactive = client.createSession({ name: 'shell', command: ['sh'], sessionType: 'INTERACTIVE' })
      await expect(interactive).rejects.toThrow(
        /resource group default takes BATCH only: ports of what runs on its agents/,
      )
    })
  })
})
