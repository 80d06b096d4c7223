import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { createClient } from '../../src/client/node/index.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

const copy = promisify(execFile)

/** As docs/operation.md says: the data directory of a stopped server, copied with its owners and modes. */
test('a backup of the data directory comes back elsewhere, and goes on', async () => {
  const root = await temporaryDirectory('backup')
  const [dataDir, backup, restored] = ['data', 'backup', 'restored'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  await mkdir(dataDir)
  await copyPreparedCluster(join(dataDir, 'postgres'))
  const first = await startServer({ dataDir, port: 0, onLog: () => {} })
  const token = await readAdminToken(dataDir)
  let sessionId: string
  {
    await using client = createClient({ url: first.url, token })
    const { session } = await client.createSession({
      name: 'kept',
      command: ['sh', '-c', 'test "$REPRISE_ATTEMPT" = 2'],
      retryPolicy: { maxRetries: 1, retryDelay: 3_000 },
    })
    sessionId = session.sessionId
    await expect
      .poll(async () => (await client.session(sessionId)).retryState.phase, { timeout: 120_000 })
      .toBe('SCHEDULED')
  }
  expect(await first.stop()).toBe(0)
  const [documented] = await blocksOfTest('test/e2e/backup.test.ts')
  await copy('bash', ['-ec', documented!.text.replace('.reprise', 'data')], { cwd: root })
  await rm(dataDir, { recursive: true })

  await copy('cp', ['-a', backup, restored])
  const second = await startServer({ dataDir: restored, port: 0, onLog: () => {} })
  expect(await readAdminToken(restored)).toBe(token)
  await using client = createClient({ url: second.url, token })
  expect((await client.session(sessionId)).retryState.phase).toBe('SCHEDULED')
  await client.retryNow(sessionId)
  expect(await client.waitForChain(sessionId)).toMatchObject({
    outcome: 'SUCCEEDED',
    attempts: [{ attempt: 1 }, { attempt: 2 }],
  })
  expect(await second.stop()).toBe(0)
})
