import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { type SlurmCluster, startSlurmCluster, whyNoSlurmCluster } from '../support/slurm/slurm-cluster.ts'

const missing = whyNoSlurmCluster()

const STATE = 'query ($id: UUID!) { session(id: $id) { status childSession { status attempt } } }'

/** Slurm itself forgets the QOS of a job where nobody accounts. */
const TELL_QOS = `
function slurm_job_submit(job)
  job.admin_comment = job.qos
  return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
`

interface State {
  status: string
  childSession: { status: string; attempt: number } | null
}

describe.skipIf(missing !== null)(`chains on Slurm${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: SlurmCluster
  let root: string
  let server: ServerProcess

  async function start(): Promise<void> {
    const env = {
      REPRISE_EXECUTOR: 'slurm',
      REPRISE_SLURM_DIR: cluster.shared,
      REPRISE_SLURM_PARTITION: 'main',
      REPRISE_SLURM_POLL_MS: '500',
      SLURM_CONF: cluster.config,
    }
    server = await startServer({ dataDir: join(root, 'data'), port: 0, onLog: () => undefined, env })
  }

  beforeAll(async () => {
    root = await temporaryDirectory('slurm-server')
    const directory = join(root, 'cluster')
    await mkdir(directory)
    await writeFile(join(directory, 'job_submit.lua'), TELL_QOS)
    const lines = ['PartitionName=long Nodes=NODES State=UP', 'JobSubmitPlugins=lua']
    cluster = await startSlurmCluster(directory, { lines })
    await start()
  })
  afterAll(async () => {
    await server.stop()
    await cluster[Symbol.asyncDispose]()
  })

  test('what fails is retried as another job, and what runs outlives the server', async () => {
    const token = await readAdminToken(join(root, 'data'))
    const retryPolicy = { maxRetries: 2, retryDelay: 0.1 }
    const create = async (name: string, script: string) => {
      await using client = createClient({ url: server.url, token })
      const { session } = await client.createSession({ name, command: ['sh', '-c', script], retryPolicy })
      return session.sessionId
    }
    const state = async (sessionId: string) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: STATE, variables: { id: sessionId } }),
      })
      const { data } = (await response.json()) as { data: { session: State } }
      const { session } = data
      return session
    }
    const failing = await create('fails-once', 'test "$REPRISE_ATTEMPT" -ge 2')
    const long = await create('outlives', 'sleep 8')
    await eventually(async () => (await state(failing)).childSession?.status === 'TERMINATED')
    expect(await state(failing)).toMatchObject({ status: 'ERROR', childSession: { attempt: 2 } })
    await eventually(async () => (await state(long)).status === 'RUNNING')
    await server.kill()
    await start()
    await eventually(async () => (await state(long)).status === 'TERMINATED')
    expect((await state(long)).childSession).toBeNull()
  })

  test('a job has what its group says, and what its session says as far as its group allows', async () => {
    for (const { name } of cluster.nodes) {
      await cluster.run('scontrol', 'update', `NodeName=${name}`, 'AvailableFeatures=a100', 'ActiveFeatures=a100')
    }
    const [block, ...more] = await blocksOfTest('test/e2e/slurm.test.ts')
    expect(more).toEqual([])
    const npx = `npx() { shift; ${process.execPath} ${MAIN} "$@"; }`
    await promisify(execFile)('bash', ['-ec', `${npx}\n${block!.text}`], {
      env: cleanEnvironment({ REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'data') }),
    })
    await using client = createClient({ url: server.url, token: await readAdminToken(join(root, 'data')) })
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
      Nice: '300',
      AdminComment: 'high',
    })
    await client.terminateSession(sessionId, { force: true })
    await eventually(async () => (await client.session(sessionId)).status === 'TERMINATED')
  })
})
