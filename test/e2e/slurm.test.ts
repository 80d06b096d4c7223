import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually, pause } from '../support/eventually.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { findKeeper } from '../support/slurm/find-keeper.ts'
import {
  type OwnSlurmCluster,
  type SlurmCluster,
  startSlurmCluster,
  whyNoSlurmCluster,
} from '../support/slurm/slurm-cluster.ts'
import { type SlurmServer, startSlurmServer } from './slurm-server.ts'
import { sharedSlurmCluster } from '../support/slurm/shared-cluster.ts'
import { expectUploadToRun } from './uploaded-files.ts'

describe('slurm', () => {
  const missing = whyNoSlurmCluster()

  const START = 'query ($id: UUID!) { session(id: $id) { status statusReason kernels { host slurmJobId } } }'
  const LOST =
    'query ($id: UUID!) { session(id: $id) { status failureReason kernels { kernelId host } retryDecision { holdReason } childSession { status } } }'

  /** Slurm itself forgets the QOS of a job where nobody accounts. */
  const TELL_QOS = `
function slurm_job_submit(job)
  job.admin_comment = job.qos
  return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
`

  interface Lost {
    status: string
    failureReason: string | null
    kernels: { kernelId: string; host: string | null }[]
    retryDecision: { holdReason: string | null } | null
    childSession: { status: string } | null
  }

  interface Started {
    status: string
    statusReason: string | null
    kernels: { host: string | null; slurmJobId: string | null }[]
  }

  /** A busy machine takes its time to start a job. */
  const SLOWLY_MS = 120_000
  const LONG = { timeout: 400_000 }

  describe.skipIf(missing !== null)(`a cluster that changes${missing === null ? '' : `: ${missing}`}`, LONG, () => {
    let cluster: OwnSlurmCluster
    let server: SlurmServer

    beforeAll(async () => {
      const directory = join(await temporaryDirectory('slurm'), 'cluster')
      await mkdir(directory)
      await writeFile(join(directory, 'job_submit.lua'), TELL_QOS)
      const lines = ['PartitionName=long Nodes=NODES State=UP', 'JobSubmitPlugins=lua']
      cluster = await startSlurmCluster(directory, { lines })
      server = await startSlurmServer(cluster)
    })
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
      await cluster?.[Symbol.asyncDispose]()
    })

    test('what the cluster offers is noticed while the agent runs', async () => {
      const node = cluster.nodes[0]!.name
      const query = '{ agents(first: 5) { edges { node { slots { slot capacity } } } } }'
      const offered = async () => JSON.stringify(await server.ask(query, {}))
      const before = await offered()
      await cluster.run('scontrol', 'update', `NodeName=${node}`, 'State=DRAIN', 'Reason=test')
      await eventually(async () => (await offered()) !== before, { withinMs: SLOWLY_MS })
      await cluster.run('scontrol', 'update', `NodeName=${node}`, 'State=RESUME')
      await eventually(async () => (await offered()) === before, { withinMs: SLOWLY_MS })
    })

    test('a job on a lost node is retried only once it is gone', async () => {
      const { client } = server
      const retryPolicy = { maxRetries: 1, retryDelay: 0.1 }
      const command = ['sh', '-c', 'test "$REPRISE_ATTEMPT" -ge 2 || exec sleep 1000']
      const { session } = await client.createSession({ name: 'lost', command, retryPolicy })
      const read = async () => (await server.ask<{ session: Lost }>(LOST, { id: session.sessionId })).session
      const running = await eventually(
        async () => {
          const found = await read()
          return found.status === 'RUNNING' && found.kernels[0]!.host !== null && found
        },
        { withinMs: SLOWLY_MS },
      )
      const { host, kernelId } = running.kernels[0]!
      const { daemon } = cluster.nodes.find(({ name }) => name === host)!
      const keeper = await eventually(() => findKeeper(kernelId))
      // Nobody ends the job, and its node does not come back.
      process.kill(-keeper, 'SIGSTOP')
      try {
        await daemon.stop('SIGKILL')
        await eventually(async () => (await read()).retryDecision?.holdReason === 'PARENT_ALIVE', {
          withinMs: SLOWLY_MS,
        })
        expect(await read()).toMatchObject({ failureReason: 'node-failed', childSession: null })
      } finally {
        process.kill(-keeper, 'SIGCONT')
      }
      await eventually(async () => (await read()).childSession?.status === 'TERMINATED', { withinMs: SLOWLY_MS })
      await daemon.start()
    })

    test('a session in the queue of Slurm says why it waits, and its start timeout does not run', async () => {
      const group = 'mutation ($input: UpdateResourceGroupInput!) { updateResourceGroup(input: $input) { __typename } }'
      await cluster.run('scontrol', 'update', 'PartitionName=main', 'State=DOWN')
      const { client } = server
      const { session } = await client.createSession({ name: 'queued', command: ['true'] })
      const read = async () => {
        const answer = (await server.ask(START, { id: session.sessionId })) as { session: Started }
        return answer.session
      }
      await eventually(async () => (await read()).statusReason?.includes('PartitionDown'), { withinMs: SLOWLY_MS })
      // It has waited for longer, and does so while the servers look several times.
      await server.ask(group, { input: { name: 'default', createTimeout: 1 } })
      await pause(5_000)
      const waiting = await read()
      expect(waiting).toMatchObject({ status: 'CREATING', statusReason: expect.stringMatching(/^queued by Slurm: /) })
      expect(waiting.kernels[0]).toMatchObject({ host: null, slurmJobId: expect.stringMatching(/^\d+$/) })
      await server.ask(group, { input: { name: 'default', createTimeout: null } })
      await cluster.run('scontrol', 'update', 'PartitionName=main', 'State=UP')
      await eventually(async () => (await read()).status === 'TERMINATED', { withinMs: SLOWLY_MS })
      const { kernels } = await read()
      expect(cluster.nodes.map(({ name }) => name)).toContain(kernels[0]!.host)
      expect(kernels[0]!.slurmJobId).toBe(waiting.kernels[0]!.slurmJobId)
    })

    test('a session that waits too long in the queue of Slurm fails, is cancelled there, and is retried', async () => {
      const group = 'mutation ($input: UpdateResourceGroupInput!) { updateResourceGroup(input: $input) { __typename } }'
      await cluster.run('scontrol', 'update', 'PartitionName=main', 'State=DOWN')
      const { client } = server
      const retryPolicy = { maxRetries: 50, retryDelay: 0.1 }
      const { session } = await client.createSession({ name: 'queued-too-long', command: ['true'], retryPolicy })
      const id = session.sessionId
      const query = `query ($id: UUID!) { session(id: $id)
      { status statusReason failureCause childSession { retryCause } retryChain { status } } }`
      interface Queued {
        status: string
        statusReason: string | null
        failureCause: string | null
        childSession: { retryCause: string } | null
        retryChain: { status: string }[]
      }
      const read = async () => (await server.ask<{ session: Queued }>(query, { id })).session
      await eventually(async () => (await read()).statusReason?.includes('PartitionDown'), { withinMs: SLOWLY_MS })
      await server.ask(group, { input: { name: 'default', queueTimeout: 1 } })
      await eventually(async () => (await read()).childSession !== null, { withinMs: SLOWLY_MS })
      await server.ask(group, { input: { name: 'default', queueTimeout: null } })
      expect(await read()).toMatchObject({
        status: 'ERROR',
        statusReason: expect.stringMatching(
          /^waited longer than the 1 s .*\(queueTimeout\): queued by Slurm: PartitionDown/,
        ),
        failureCause: 'SCHEDULER_TIMEOUT',
        childSession: { retryCause: 'SCHEDULER_TIMEOUT' },
      })
      const waiting = () => cluster.run('squeue', '--noheader', '--states=PENDING', '--format=%k')
      await eventually(async () => !(await waiting()).includes(id), { withinMs: SLOWLY_MS })
      await cluster.run('scontrol', 'update', 'PartitionName=main', 'State=UP')
      // The second may have waited for too long, too, before it was allowed to.
      await eventually(async () => (await read()).retryChain.at(-1)!.status === 'TERMINATED', { withinMs: SLOWLY_MS })
    })

    test('a job has the options of its resource group, and those of its session that the group allows', async () => {
      for (const { name } of cluster.nodes) {
        await cluster.run('scontrol', 'update', `NodeName=${name}`, 'AvailableFeatures=a100', 'ActiveFeatures=a100')
      }
      const [block, ...more] = await blocksOfTest('test/e2e/slurm.test.ts')
      expect(more).toEqual([])
      const npx = `npx() { shift; ${process.execPath} ${MAIN} "$@"; }`
      await promisify(execFile)('bash', ['-ec', `${npx}\n${block!.text}`], {
        env: cleanEnvironment({ REPRISE_URL: server.url, REPRISE_DATA_DIR: server.dataDir }),
      })
      const { client } = server
      const { nodes } = await client.sessionPage({ filter: { name: { equals: 'train' } } })
      const { sessionId } = nodes[0]!
      const job = await eventually(async () => {
        const jobs = await cluster.run('scontrol', '--oneliner', 'show', 'jobs')
        return jobs.split('\n').find((line) => line.includes(sessionId))
      })
      const fields = Object.fromEntries(job.split(' ').map((field) => field.split('=')))
      expect(fields).toMatchObject({
        Partition: 'long',
        Account: 'physics',
        Features: 'a100',
        TimeLimit: '01:02:00',
        Nice: '50',
        AdminComment: 'high',
      })
      await client.terminateSession(sessionId, { force: true })
      await eventually(async () => (await client.session(sessionId)).status === 'TERMINATED')
    })
  })
})

describe('slurm chains', () => {
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

    test('a failed session is retried as another job, and a running one outlives the server', async () => {
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
      await eventually(async () => (await state(failing)).childSession?.status === 'TERMINATED', {
        withinMs: SLOWLY_MS,
      })
      expect(await state(failing)).toMatchObject({ status: 'ERROR', childSession: { attempt: 2 } })
      await eventually(async () => (await state(long)).status === 'RUNNING', { withinMs: SLOWLY_MS })
      await server.restart()
      await writeFile(gate, '')
      await eventually(async () => (await state(long)).status === 'TERMINATED', { withinMs: SLOWLY_MS })
      expect((await state(long)).childSession).toBeNull()
    })

    describe.concurrent('beside each other', () => {
      test('uploaded code runs in each attempt', async () => {
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

      test('a session that no node can hold waits and says so; one that serves ports is refused', async () => {
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
          `^impossible: no machine of resource group default has more than cpu ${cluster.cpusPerNode}, it asks for ${cluster.cpusPerNode + 1}; the nearest is `,
        )
        await eventually(async () => words.test((await reason()).pendingReason ?? ''), { withinMs: SLOWLY_MS })
        const interactive = client.createSession({ name: 'shell', command: ['sh'], sessionType: 'INTERACTIVE' })
        await expect(interactive).rejects.toThrow(
          /resource group default takes BATCH only: ports of what runs on its agents/,
        )
      })
    })
  })
})
