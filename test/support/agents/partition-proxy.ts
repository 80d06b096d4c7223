import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * States of the network between two machines. open: everything passes. cut: connections are closed, and new ones are,
 * too. stalled: connections stay open, but nothing passes. deaf: what the client sends arrives, what the server sends
 * is lost.
 */
export type Passage = 'open' | 'cut' | 'stalled' | 'deaf'

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
  /** Data from the server was lost: nothing after it can be forwarded. */
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
    client.on('data', (chunk) => {
      server.write(chunk)
      count(pair, chunk)
    })
    server.on('data', (chunk) => {
      count(pair, chunk)
      if (passage === 'deaf') pair.torn = true
      else client.write(chunk)
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
