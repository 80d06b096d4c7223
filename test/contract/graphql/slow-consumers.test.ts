import { request, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { writeEvents } from '../../support/database/outbox.ts'
import { pause } from '../../support/eventually.ts'

/** Clients that do not read what they have subscribed to, on sockets of their own. */

/** More than a subscriber's queue holds; with the selection below far more than the systems between take. */
const EVENTS = 12_000
const BATCH = 2_000
/** Of one socket: one event, and what Node.js writes at once. */
const BUFFERED_BYTES_MAX = 256 * 1024
const STALLED_AFTER_MS = 2_000

/** About 5 KB for each event. */
const WIDE = `subscription ($after: String) { sessionEvents(after: $after) { cursor ${Array.from(
  { length: 100 },
  (_, n) => `c${n}: sessionId`,
).join(' ')} } }`

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer({
    requestLimits: { headersWithinMs: 15_000, requestWithinMs: 120_000, stalledAfterMs: STALLED_AFTER_MS },
    webSockets: { pingIntervalMs: 120_000 },
  })
})
afterAll(() => server?.close())

async function publish(reason = ''): Promise<void> {
  for (let n = 0; n < EVENTS; n += BATCH) {
    await writeEvents(
      server.db,
      Array.from({ length: BATCH }, () => ({ data: { from: null, to: 'PENDING', reason } })),
    )
    server.wake.wake('events')
  }
}

/** What waits in the server for this client, by its port: both ends are of this process. Nothing, once it is cut off. */
function buffered(port: number): number {
  const sockets = (process as unknown as { _getActiveHandles(): Socket[] })._getActiveHandles()
  return sockets.find(({ remotePort }) => remotePort === port)?.writableLength ?? 0
}

async function follow(): Promise<{ all: Promise<string[]>; close(): unknown }> {
  const connection = connect(server.url, server.adminToken)
  const stream = connection.subscribe('subscription { sessionEvents { cursor } }')
  const all = stream.take(EVENTS).then((events) => events.map(({ sessionEvents }) => sessionEvents.cursor as string))
  return { all, close: connection.close }
}

test('over graphql-ws: memory is bounded, others are not delayed, and nothing is missed', async () => {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const cursors: string[] = []
  const done = Promise.withResolvers<void>()
  socket.on('open', () => {
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${server.adminToken}` } }))
  })
  socket.on('message', (data: Buffer) => {
    const { type, payload } = JSON.parse(String(data))
    if (type === 'connection_ack') socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: WIDE } }))
    if (type !== 'next') return
    cursors.push(payload.data.sessionEvents.cursor)
    if (cursors.length === EVENTS) done.resolve()
  })
  const other = await follow()
  await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(2)
  const { localPort } = (socket as unknown as { _socket: Socket })._socket
  socket.pause()

  await publish()
  const expected = await other.all
  expect(buffered(localPort!)).toBeGreaterThan(0)
  expect(buffered(localPort!)).toBeLessThan(BUFFERED_BYTES_MAX)
  expect(cursors).toEqual([])

  socket.resume()
  await done.promise
  expect(cursors).toEqual(expected)
  socket.close()
  await other.close()
})

test.each([
  ['GraphQL', openStream, /"cursor":"([^"]+)"/g, /"cursor":"([^"]+)"/g],
  // A stream of REST begins with the id from which one goes on that has got no event.
  ['REST', openRestStream, /id: (\S+)\nevent: /g, /id: (\S+)\n/g],
] as const)(
  'over server-sent events of %s: whoever takes nothing is cut off, and goes on from its cursor',
  async (_, open, ofEvent, ofAny) => {
    const stream = await open()
    const received = receive(stream.response)
    await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(1)
    const other = await follow()
    await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(2)
    stream.response.socket.pause()
    await publish('x'.repeat(4_000))
    const expected = await other.all
    expect(buffered(stream.port)).toBeLessThan(BUFFERED_BYTES_MAX)
    await other.close()
    await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(0)

    stream.response.socket.resume()
    const text = await received
    const first = cursorsIn(text, ofEvent)
    expect(first.length).toBeLessThan(EVENTS)
    const from = cursorsIn(text, ofAny).at(-1)
    expect(from).toBeDefined()
    const again = await open(from)
    const rest: string[] = []
    let unread = ''
    for await (const chunk of again.response) {
      unread += String(chunk)
      const end = unread.lastIndexOf('\n\n')
      if (end < 0) continue
      rest.push(...cursorsIn(unread.slice(0, end + 2), ofEvent))
      unread = unread.slice(end + 2)
      if (first.length + rest.length >= EVENTS) break
    }
    expect([...first, ...rest]).toEqual(expected)
  },
)

test('over server-sent events: one that waits for an event is not cut off', async () => {
  const stream = await openStream()
  await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(1)
  await pause(2 * STALLED_AFTER_MS)
  expect(server.bus.subscribers).toBe(1)
  stream.response.destroy()
  await expect.poll(() => server.bus.subscribers, { timeout: 120_000 }).toBe(0)
})

async function openStream(after?: string): Promise<{ response: IncomingMessage; port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    authorization: `Bearer ${server.adminToken}`,
  }
  const outgoing = request(`${server.url}/graphql`, { method: 'POST', headers, agent: false }, resolve)
  outgoing.on('error', reject).end(JSON.stringify({ query: WIDE, variables: { after } }))
  const response = await promise
  return { response, port: response.socket.localPort! }
}

async function openRestStream(after?: string): Promise<{ response: IncomingMessage; port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { authorization: `Bearer ${server.adminToken}`, ...(after && { 'last-event-id': after }) }
  request(`${server.url}/v2/events`, { headers, agent: false }, resolve).on('error', reject).end()
  const response = await promise
  return { response, port: response.socket.localPort! }
}

/** What comes until the other end is gone. Taken at once: what waits in a response is lost when its connection is reset. */
function receive(response: IncomingMessage): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  response.on('data', (chunk: Buffer) => (text += String(chunk)))
  response.on('error', () => {})
  response.on('close', () => resolve(text))
  return promise
}

/** Of whole events; one that was cut off in the middle is not counted. */
function cursorsIn(text: string, cursor: RegExp): string[] {
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
  return [...whole.matchAll(cursor)].map(([, found]) => found!)
}
