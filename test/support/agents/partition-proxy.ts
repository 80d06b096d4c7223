import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * States of the network between two machines. open: everything passes. cut: connections are closed, and new ones are,
 * too. stalled: connections stay open, but nothing passes. deaf: what the client sends arrives, what the server sends
 * is lost. mute: the other way round. slow: everything arrives, each piece SLOW_MS later.
 */
export const PASSAGES = ['open', 'cut', 'stalled', 'deaf', 'mute', 'slow'] as const
export type Passage = (typeof PASSAGES)[number]

const SLOW_MS = 400

export interface PartitionProxy {
  readonly url: string
  /** Applies to existing and new connections. */
  set(passage: Passage): void
  /** The next connection on which so many bytes have come stays open, and passes nothing more. Resolves then. */
  stickAfter(bytes: number): Promise<void>
  close(): Promise<void>
}

interface Pair {
  client: Socket
  server: Socket
  /** Data was lost: nothing after it can be forwarded. */
  torn: boolean
  /** In either direction. */
  bytes: number
  stuck: boolean
}

/** A proxy for `target` whose connections a test can disturb. */
export async function startPartitionProxy(target: string): Promise<PartitionProxy> {
  const { hostname, port } = new URL(target)
  const pairs = new Set<Pair>()
  let passage: Passage = 'open'
  let sticking: { after: number; reached(): void } | null = null

  function apply(pair: Pair): void {
    if (pair.stuck) return
    if (passage === 'cut' || (passage === 'open' && pair.torn)) end(pair)
    else if (passage === 'stalled') for (const socket of [pair.client, pair.server]) socket.pause()
    else for (const socket of [pair.client, pair.server]) socket.resume()
  }

  function end({ client, server }: Pair): void {
    client.destroy()
    server.destroy()
  }

  function count(pair: Pair, { length }: Buffer): void {
    pair.bytes += length
    if (pair.stuck || sticking === null || pair.bytes < sticking.after) return
    pair.stuck = true
    for (const socket of [pair.client, pair.server]) socket.pause()
    sticking.reached()
    sticking = null
  }

  const listener = createServer((client) => {
    const server = connect(Number(port), hostname)
    const pair: Pair = { client, server, torn: false, bytes: 0, stuck: false }
    pairs.add(pair)
    const [up, down] = [delayLine(server), delayLine(client)]
    client.on('data', (chunk) => {
      if (passage === 'mute') pair.torn = true
      else if (!pair.torn) up(chunk, passage === 'slow')
      count(pair, chunk)
    })
    server.on('data', (chunk) => {
      count(pair, chunk)
      if (passage === 'deaf') pair.torn = true
      else if (!pair.torn) down(chunk, passage === 'slow')
    })
    for (const socket of [client, server]) {
      socket.on('error', () => end(pair))
      socket.on('close', () => {
        // The end of a connection is forwarded under the same conditions as data.
        if (passage === 'open' || passage === 'cut') end(pair)
        if (client.destroyed && server.destroyed) pairs.delete(pair)
      })
    }
    apply(pair)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    set(next) {
      passage = next
      for (const pair of pairs) apply(pair)
    },
    stickAfter(bytes) {
      const { promise, resolve } = Promise.withResolvers<void>()
      sticking = { after: bytes, reached: resolve }
      return promise
    },
    async close() {
      for (const pair of pairs) end(pair)
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

/** Passes chunks on in their order, late ones SLOW_MS later. */
function delayLine(to: Socket): (chunk: Buffer, late: boolean) => void {
  const waiting: { chunk: Buffer; at: number }[] = []
  const send = () => {
    while (waiting.length > 0 && waiting[0]!.at <= performance.now()) to.write(waiting.shift()!.chunk)
    if (waiting.length > 0) setTimeout(send, waiting[0]!.at - performance.now() + 1)
  }
  return (chunk, late) => {
    if (waiting.length === 0 && !late) return void to.write(chunk)
    waiting.push({ chunk, at: performance.now() + (late ? SLOW_MS : 0) })
    if (waiting.length === 1) send()
  }
}
