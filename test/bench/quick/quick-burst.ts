import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { readAdminToken, startServer } from '../../../src/cli/demo/server-process.ts'
import { startSubscribers, subscriptionsOpen, type Subscribers } from '../../support/servers/subscribers.ts'
import type { Measurement } from '../bench.ts'
import { BARE_MESSAGE, createSessions } from '../fan-out.bench.ts'
import type { BenchGround } from '../ground.ts'
import { compareSides } from './compare.ts'

const EVENTS = 150

/** Many events at once to many subscribers, beside as many messages to bare WebSockets; without what the subscribers cost. */
export async function* quickBurst(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  await using resources = new AsyncDisposableStack()
  const { connectionString } = await ground.database()
  const dataDir = join(ground.dir, 'server')
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
  const { url, stop } = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  resources.defer(async () => void (await stop()))
  const token = await readAdminToken(dataDir)
  const subscribers = resources.use(startSubscribers())
  await subscribers.connect({ url, token, count: size })
  await subscriptionsOpen(url, token, size)

  const bareServer = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  resources.defer(() => closeAll(bareServer))
  await once(bareServer, 'listening')
  const { port } = bareServer.address() as AddressInfo
  const listeners = resources.use(startSubscribers())
  await listeners.connect({ url: `http://127.0.0.1:${port}`, token: null, count: size })

  yield await compareSides(ground, {
    what: `a burst of ${EVENTS} events to ${size} subscribers, beside bare WebSockets`,
    unit: 'messages',
    rounds: 3,
    except: [subscribers.pid, listeners.pid],
    ours: (timed) => timed(() => allReceive(subscribers, size, () => createSessions(url, token, EVENTS))),
    bare: (timed) => timed(() => allReceive(listeners, size, () => sendToAll(bareServer))),
  })
}

/** Messages that arrived. */
async function allReceive(subscribers: Subscribers, size: number, send: () => Promise<unknown>): Promise<number> {
  const received = subscribers.received(EVENTS)
  await send()
  const { received: messages } = await received
  if (messages !== EVENTS * size) throw new Error(`${messages} messages arrived, not ${EVENTS * size}`)
  return messages
}

async function sendToAll(server: WebSocketServer): Promise<void> {
  for (let event = 0; event < EVENTS; event++) {
    for (const client of server.clients) client.send(BARE_MESSAGE)
    await nextTurn()
  }
}

function closeAll(server: WebSocketServer): void {
  for (const client of server.clients) client.terminate()
  server.close()
}
