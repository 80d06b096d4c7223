import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { WEBHOOK_LEASE_MS } from '../../src/domain/limits.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { writeEvents } from '../support/database/outbox.ts'
import { advanceClock } from '../support/sessions/advance-clock.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { writeTestSecretsKey } from '../support/servers/test-secrets.ts'
import { deliveryRows, webhookServer } from '../support/servers/webhook-fixture.ts'
import { webhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts'
import { MAIN } from '../support/programs/command-line.ts'

let database: TestDatabase
let receiver: WebhookReceiver
let dataDir: string
let secretsKey: string
const children: ChildProcess[] = []

beforeAll(async () => {
  database = await testDatabase()
  receiver = await webhookReceiver()
  dataDir = await temporaryDirectory('webhook-crash')
  secretsKey = await writeTestSecretsKey(dataDir)
})
afterEach(async () => {
  for (const child of children.splice(0)) await end(child, 'SIGKILL')
})
afterAll(async () => {
  await receiver?.close()
  await database?.close()
})

/** A server process as a user starts it, that does nothing but drive sessions and deliver. */
async function startScheduler(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      REPRISE_DATABASE_URL: database.connectionString,
      REPRISE_DATA_DIR: dataDir,
      REPRISE_SECRETS_KEY_FILE: secretsKey,
      REPRISE_ROLES: 'scheduler',
      REPRISE_LOG_LEVEL: 'error',
      REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.1/32',
    },
  })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('reprise ready')) break
  return child
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

test('a server killed in the middle of an attempt: after the lease another makes it again under the same webhook-id', async () => {
  const { secret } = await webhookServer(database.db).create({ url: receiver.url })
  const session = await createFactories(database.db).session()
  const data = { from: null, to: 'PENDING' }
  const { id: sessionId, chainId, projectId } = session

  receiver.hang()
  const first = await startScheduler()
  await writeEvents(database.db, [{ sessionId, chainId, projectId, data }])
  await eventually(() => receiver.received.length === 1, { withinMs: 120_000 })
  await end(first, 'SIGKILL')

  receiver.answerWith(200)
  const second = await startScheduler()
  // It is still somebody's, and its endpoint gets nothing else until that is over.
  await writeEvents(database.db, [{ sessionId, chainId, projectId, data }])
  await eventually(async () => (await deliveryRows(database.db)).length === 2, { withinMs: 120_000 })
  expect(await deliveryRows(database.db)).toMatchObject([
    { status: 'PENDING', underWay: true, attempts: 1 },
    { status: 'PENDING', eventType: 'session.created', attempts: 0 },
  ])
  await advanceClock(database.db, WEBHOOK_LEASE_MS / 1000)
  await eventually(() => receiver.received.length === 3, { withinMs: 120_000 })
  await end(second, 'SIGTERM')

  expect(second.exitCode).toBe(0)
  expect(await deliveryRows(database.db)).toMatchObject([
    { status: 'DELIVERED', attempts: 2, failures: 0 },
    { status: 'DELIVERED', attempts: 1 },
  ])
  const [cut, ...later] = receiver.received
  const again = later.find(({ headers }) => headers['webhook-id'] === cut!.headers['webhook-id'])
  expect(later.filter((each) => each !== again)).toHaveLength(1)
  expect(again!.body).toBe(cut!.body)
  expect(new Webhook(secret).verify(again!.body, again!.headers as Record<string, string>)).toMatchObject({
    data: { session_id: sessionId },
  })
})
