import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import {
  canLimitMemory,
  type OwnSlurmCluster,
  startSlurmCluster,
  whyNoSlurmCluster,
} from '../support/slurm/slurm-cluster.ts'

const missing = whyNoSlurmCluster()
/** A busy machine takes its time to start a job. */
const SLOWLY_MS = 120_000

const CHAIN = `query ($id: UUID!) { session(id: $id) { retryChain {
  sessionId attempt status failureCause failureReason retryCount resourceSlots { slot amount }
  kernels { host slurmJobId oomKilled } retryDecision { phase counted }
} } }`

interface Attempt {
  sessionId: string
  attempt: number
  status: string
  failureCause: string | null
  failureReason: string | null
  retryCount: number
  resourceSlots: { slot: string; amount: string }[]
  kernels: { host: string | null; slurmJobId: string | null; oomKilled: boolean }[]
  retryDecision: { phase: string; counted: boolean } | null
}

describe.skipIf(missing !== null)(`failures on Slurm${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: OwnSlurmCluster
  let server: ServerProcess
  let token: string
  let client: Client

  beforeAll(async () => {
    const root = await temporaryDirectory('slurm-failures')
    const preemption = ['PreemptType=preempt/partition_prio', 'PreemptMode=CANCEL']
    const urgent = 'PartitionName=urgent Nodes=NODES State=UP PriorityTier=10 PreemptMode=OFF'
    cluster = await startSlurmCluster(join(root, 'cluster'), { lines: [...preemption, urgent] })
    const env = {
      REPRISE_EXECUTOR: 'slurm',
      REPRISE_SLURM_DIR: cluster.shared,
      REPRISE_SLURM_PARTITION: 'main',
      REPRISE_SLURM_POLL_MS: '500',
      REPRISE_SLOTS: '',
      SLURM_CONF: cluster.config,
    }
    server = await startServer({ dataDir: join(root, 'data'), port: 0, onLog: () => undefined, env })
    token = await readAdminToken(join(root, 'data'))
    client = createClient({ url: server.url, token })
  })
  afterAll(async () => {
    await client[Symbol.asyncDispose]()
    await server.stop()
    await cluster[Symbol.asyncDispose]()
  })

  async function chain(id: string): Promise<Attempt[]> {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: CHAIN, variables: { id } }),
    })
    const answer = (await response.json()) as { data: { session: { retryChain: Attempt[] } }; errors?: unknown }
    expect(answer.errors).toBeUndefined()
    return answer.data.session.retryChain
  }

  const ended = (id: string) =>
    eventually(
      async () => {
        const attempts = await chain(id)
        const { status, retryDecision } = attempts.at(-1)!
        return (status === 'TERMINATED' || (status === 'ERROR' && retryDecision?.phase === 'EXHAUSTED')) && attempts
      },
      { withinMs: SLOWLY_MS },
    )

  test('one that Slurm preempts is retried, and that does not count', { timeout: 400_000 }, async () => {
    const { session } = await client.createSession({
      name: 'preempted',
      command: ['sh', '-c', 'test "$REPRISE_ATTEMPT" -ge 2 || exec sleep 1000'],
      resourceSlots: [{ slot: 'cpu', amount: '2' }],
      retryPolicy: {
        maxRetries: 1,
        retryDelay: 0.1,
        rules: [{ match: { reason: 'preempted*' }, action: 'RETRY_UNCOUNTED' }],
      },
    })
    await eventually(async () => (await chain(session.sessionId))[0]!.status === 'RUNNING', { withinMs: SLOWLY_MS })
    const urgent = ['--partition=urgent', '--nodes=2', '--exclusive', '--output=/dev/null', '--chdir=/']
    await cluster.run('sbatch', ...urgent, '--wrap=sleep 3')
    expect(await ended(session.sessionId)).toMatchObject([
      {
        status: 'ERROR',
        failureCause: 'AGENT_TRANSIENT',
        failureReason: 'preempted',
        retryDecision: { counted: false },
      },
      { status: 'TERMINATED', attempt: 2, retryCount: 0 },
    ])
  })

  test('a job and its session name each other', { timeout: 400_000 }, async () => {
    const { session } = await client.createSession({ name: 'linked', command: ['sleep', '1000'] })
    const [attempt] = await eventually(
      async () => {
        const attempts = await chain(session.sessionId)
        return attempts[0]!.status === 'RUNNING' && attempts
      },
      { withinMs: SLOWLY_MS },
    )
    const { host, slurmJobId } = attempt!.kernels[0]!
    const job = await cluster.run('squeue', '--noheader', `--jobs=${slurmJobId}`, '--format=%N|%k')
    expect(job.trim()).toMatch(new RegExp(`^${host}\\|reprise agent=\\S+ session=${session.sessionId} attempt=1$`))
    await client.terminateSession(session.sessionId, { force: true })
  })

  test.skipIf(!canLimitMemory())('one that lacks memory has more of it', { timeout: 400_000 }, async () => {
    const { session } = await client.createSession({
      name: 'grows',
      // Keeps 90 MB.
      command: ['sh', '-c', 'head -c 90000000 /dev/zero | tail -c 90000000 >/dev/null'],
      resourceSlots: [{ slot: 'mem', amount: '64m' }],
      retryPolicy: {
        maxRetries: 3,
        retryDelay: 0.1,
        rules: [
          {
            match: { causes: ['OOM_KILLED'] },
            action: 'RETRY',
            scaleResources: [{ slot: 'mem', factor: 2, max: '1g' }],
          },
        ],
      },
    })
    const attempts = await ended(session.sessionId)
    expect(attempts).toMatchObject([
      { status: 'ERROR', failureCause: 'OOM_KILLED', failureReason: 'oom-killed', kernels: [{ oomKilled: true }] },
      { status: 'TERMINATED', attempt: 2 },
    ])
    const memory = attempts.map(({ resourceSlots }) => resourceSlots.find(({ slot }) => slot === 'mem')?.amount)
    expect(memory).toEqual([String(64 * 2 ** 20), String(128 * 2 ** 20)])
  })
})
