import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { WebSocketServer } from 'ws'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { startSubscribers, subscriptionsOpen, type Subscribers } from '../support/servers/subscribers.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'

const LAST_WITHIN_MS = 1_000
const SINGLE_EVENTS = 5
const BURST_EVENTS = 1_000
const AWAY_EVENTS = 20
/** As long as an event with two ids. */
export const BARE_MESSAGE = JSON.stringify({ id: '1', type: 'next', payload: { data: { cursor: 'x'.repeat(160) } } })

/**
 * Events to many subscribers, each on a connection of its own: one at a time, a burst, and all of them coming back
 * at once after a cut. The ceilings of the first and the last are as many bare WebSockets with messages as long.
 */
export async function* fanOut(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const bare = await bareTimes(ground, size)
  const { connectionString } = await ground.database()
  const dataDir = join(ground.dir, 'server')
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  try {
    const token = await readAdminToken(dataDir)
    await using subscribers = startSubscribers()
    yield* measure(ground, { url: server.url, token, subscribers, size, bare })
  } finally {
    await server.stop()
  }
}

interface Setup {
  url: string
  token: string
  subscribers: Subscribers
  size: number
  bare: BareTimes
}

/** Milliseconds until the last of as many bare WebSockets has its last message. */
interface BareTimes {
  broadcast: number
  comeback: number
}

async function* measure(
  ground: BenchGround,
  { url, token, subscribers, size, bare }: Setup,
): AsyncGenerator<Measurement> {
  const create = (count: number) => createSessions(url, token, count)
  const connected = await subscribers.connect({ url, token, count: size })
  ground.progress(`${size} subscribers connected in ${Math.round(connected.tookMs)} ms`)
  await subscriptionsOpen(url, token, size)
  const latest: number[] = []
  for (let n = 0; n < SINGLE_EVENTS; n++) {
    ground.signal.throwIfAborted()
    const last = subscribers.received(1)
    const committed = await create(1)
    latest.push((await last).at - committed)
  }
  yield {
    what: `one event to ${size} subscribers: the last has it`,
    figure: median(latest),
    unit: 'ms',
    ceiling: bare.broadcast,
    target: { atMost: LAST_WITHIN_MS },
    notes: { worst: Math.round(Math.max(...latest)) },
  }
  ground.progress(`a burst of ${BURST_EVENTS} events`)
  const began = Date.now()
  const burst = subscribers.received(BURST_EVENTS)
  await create(BURST_EVENTS)
  const { at, received, faults } = await burst
  const memory = await residentMegabytes(url, token)
  yield {
    what: `a burst of ${BURST_EVENTS} events to all of them`,
    figure: (BURST_EVENTS * size) / ((at - began) / 1_000),
    unit: 'messages/s',
    notes: { missed: BURST_EVENTS * size - received, faults, 'resident MB': memory },
  }
  ground.progress('all connections are cut, and come back')
  await subscribers.cut()
  await create(AWAY_EVENTS)
  const back = Date.now()
  await subscribers.connect({ url, token, count: size })
  const caughtUp = await subscribers.received(AWAY_EVENTS)
  yield {
    what: `all come back at once, ${AWAY_EVENTS} events behind`,
    figure: caughtUp.at - back,
    unit: 'ms',
    ceiling: bare.comeback,
    notes: { missed: AWAY_EVENTS * size - caughtUp.received, faults: caughtUp.faults },
  }
}

/** When the answer came, in milliseconds since 1970: the events are committed then. */
export async function createSessions(url: string, token: string, count: number): Promise<number> {
  const sessions = Array.from({ length: count }, (_, n) => ({ name: `s${n}`, command: ['true'] }))
  const query = 'mutation ($input: CreateSessionsInput!) { createSessions(input: $input) { __typename } }'
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables: { input: { sessions } } }),
  })
  if (!(await response.text()).includes('CreateSessionsPayload')) throw new Error('the sessions were not created')
  return Date.now()
}

async function residentMegabytes(url: string, token: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()
  return Math.round(Number(/^process_resident_memory_bytes (\S+)$/m.exec(page)![1]) / 1024 / 1024)
}

async function bareTimes(ground: BenchGround, size: number): Promise<BareTimes> {
  ground.progress(`${size} bare WebSockets`)
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const took: number[] = []
  let comeback: number
  {
    await using subscribers = startSubscribers()
    await subscribers.connect({ url: `http://127.0.0.1:${port}`, token: null, count: size })
    for (let n = 0; n < SINGLE_EVENTS; n++) {
      const last = subscribers.received(1)
      const began = Date.now()
      for (const client of server.clients) client.send(BARE_MESSAGE)
      took.push((await last).at - began)
    }
    await subscribers.cut()
    server.on('connection', (client) => {
      for (let n = 0; n < AWAY_EVENTS; n++) client.send(BARE_MESSAGE)
    })
    const back = Date.now()
    await subscribers.connect({ url: `http://127.0.0.1:${port}`, token: null, count: size })
    comeback = (await subscribers.received(AWAY_EVENTS)).at - back
  }
  for (const client of server.clients) client.terminate()
  server.close()
  return { broadcast: median(took), comeback }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
