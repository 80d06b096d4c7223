import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { type SlurmCluster, startSlurmCluster, whyNoSlurmCluster } from '../support/slurm/slurm-cluster.ts'

const missing = whyNoSlurmCluster()

const STATE = 'query ($id: UUID!) { session(id: $id) { status childSession { status attempt } } }'

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
    cluster = await startSlurmCluster(join(root, 'cluster'))
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
})
