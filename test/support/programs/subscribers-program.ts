import { WebSocket } from 'ws'
import type { SubscribersCommand, SubscribersReport } from '../servers/subscribers.ts'

/** Many graphql-ws subscribers in one process of their own, so that they do not share the server's event loop. */

const CONNECTING_AT_ONCE = 100

interface Subscriber {
  socket: WebSocket
  cursor: string | null
  received: number
  /** Cursors that were repeated or out of order, and reported gaps. */
  faults: number
}

let subscribers: Subscriber[] = []
/** Cursors from which disconnected subscribers continue. */
let cursors: (string | null)[] = []
let awaited: { count: number; resolve: () => void } | undefined
let complete = 0
let lastAt = 0

process.on('message', (command: SubscribersCommand) => {
  void handle(command).catch((error: Error) => report({ kind: 'failed', message: error.message }))
})
process.once('disconnect', () => process.exit(0))

async function handle(command: SubscribersCommand): Promise<void> {
  if (command.kind === 'connect') {
    const began = performance.now()
    const numbers = Array.from({ length: command.count }, (_, n) => n)
    const worker = async () => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift())
        subscribers.push(await subscribe(command, cursors[n] ?? null))
    }
    await Promise.all(Array.from({ length: CONNECTING_AT_ONCE }, worker))
    report({ kind: 'connected', tookMs: performance.now() - began })
  } else if (command.kind === 'cut') {
    const cut = subscribers
    subscribers = []
    for (const { socket } of cut) socket.terminate()
    cursors = cut.map(({ cursor }) => cursor)
    report({ kind: 'cut' })
  } else {
    const { promise, resolve } = Promise.withResolvers<void>()
    awaited = { count: command.count, resolve }
    complete = subscribers.filter(({ received }) => received >= command.count).length
    if (complete < subscribers.length) await promise
    const faults = subscribers.reduce((sum, subscriber) => sum + subscriber.faults, 0)
    const received = subscribers.reduce((sum, subscriber) => sum + subscriber.received, 0)
    for (const subscriber of subscribers) subscriber.received = 0
    awaited = undefined
    report({ kind: 'received', at: lastAt, received, faults })
  }
}

function report(message: SubscribersReport): void {
  process.send!(message)
}

async function subscribe(
  { url, token, selection }: Extract<SubscribersCommand, { kind: 'connect' }>,
  cursor: string | null,
): Promise<Subscriber> {
  const socket = new WebSocket(url, token === null ? [] : ['graphql-transport-ws'], { perMessageDeflate: false })
  const subscriber: Subscriber = { socket, cursor, received: 0, faults: 0 }
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('error', reject)
  socket.once('close', (code) => {
    const error = new Error(`a connection was closed with ${code} after ${subscriber.received} events`)
    reject(error)
    if (subscribers.includes(subscriber)) report({ kind: 'failed', message: error.message })
  })
  socket.on('open', () => {
    if (token === null) resolve()
    else socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
  })
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    if (text.startsWith('{"type":"connection_ack"')) {
      const query = `subscription ($after: String) { sessionEvents(after: $after) { cursor ${selection} } }`
      socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query, variables: { after: cursor } } }))
      resolve()
    } else if (token === null || text.includes('"type":"next"')) receive(subscriber, text)
    else if (!text.includes('"type":"ping"')) subscriber.faults++
  })
  await promise
  return subscriber
}

function receive(subscriber: Subscriber, text: string): void {
  const cursor = /"cursor":"([^"]+)"/.exec(text)?.[1] ?? null
  if (cursor === null || text.includes('"errors"')) subscriber.faults++
  else {
    if (subscriber.cursor !== null && position(cursor) <= position(subscriber.cursor)) subscriber.faults++
    subscriber.cursor = cursor
  }
  subscriber.received++
  lastAt = Date.now()
  if (awaited && subscriber.received === awaited.count && ++complete === subscribers.length) awaited.resolve()
}

/** Positions in one outbox. Transactions and ids increase together if all events come from one client. */
const positions = new Map<string, number>()
function position(cursor: string): number {
  const known = positions.get(cursor)
  if (known !== undefined) return known
  const [xid = '0', id = '0'] = Buffer.from(cursor, 'base64').toString().split(':')
  const value = Number(xid) * 1e6 + (Number(id) % 1e6)
  positions.set(cursor, value)
  return value
}
