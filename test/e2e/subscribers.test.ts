import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { createClient } from '../../src/client/node/index.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { startSubscribers, subscriptionsOpen, type Subscribers } from '../support/servers/subscribers.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** As the bench of fan-out does it with twenty times as many, on sockets of their own in a process of their own. */

const SUBSCRIBERS = 250
const BURST_EVENTS = 200
const AWAY_EVENTS = 50

let server: ServerProcess
let token: string
let subscribers: Subscribers

beforeAll(async () => {
  const dataDir = await temporaryDirectory('subscribers')
  const { connectionString } = await emptyDatabase()
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api' }
  server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  token = await readAdminToken(dataDir)
  subscribers = startSubscribers()
})
afterAll(async () => {
  await subscribers?.[Symbol.asyncDispose]()
  await server?.stop()
})

async function create(count: number): Promise<void> {
  await using client = createClient({ url: server.url, token })
  await client.createSessions(Array.from({ length: count }, (_, n) => ({ name: `s${n}`, command: ['true'] })))
}

test('many subscribers miss nothing of a burst, and nothing of what happens while all are cut off', async () => {
  await subscribers.connect({ url: server.url, token, count: SUBSCRIBERS })
  await subscriptionsOpen(server.url, token, SUBSCRIBERS)
  const burst = subscribers.received(BURST_EVENTS)
  await create(BURST_EVENTS)
  expect(await burst).toMatchObject({ received: SUBSCRIBERS * BURST_EVENTS, faults: 0 })

  await subscribers.cut()
  await create(AWAY_EVENTS)
  await subscribers.connect({ url: server.url, token, count: SUBSCRIBERS })
  expect(await subscribers.received(AWAY_EVENTS)).toMatchObject({ received: SUBSCRIBERS * AWAY_EVENTS, faults: 0 })
})
