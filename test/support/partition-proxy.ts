import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * What the way between two machines can do:
 * open: all passes. cut: connections end, and new ones too. stalled: connections stay, and nothing passes on them.
 * deaf: what the client says arrives, and what the server says is lost.
 */
export type Passage = 'open' | 'cut' | 'stalled' | 'deaf'

export interface PartitionProxy {
  readonly url: string
  /** Of connections that are there, and of those to come. */
  set(passage: Passage): void
  close(): Promise<void>
}

interface Pair {
  client: Socket
  server: Socket
  /** What the server said is lost: nothing after it can be passed on. */
  torn: boolean
}

/** A way to `target` that the test can take away. */
export async function startPartitionProxy(target: string): Promise<PartitionProxy> {
  const { hostname, port } = new URL(target)
  const pairs = new Set<Pair>()
  let passage: Passage = 'open'

  function apply(pair: Pair): void {
    if (passage === 'cut' || (passage === 'open' && pair.torn)) end(pair)
    else if (passage === 'stalled') for (const socket of [pair.client, pair.server]) socket.pause()
    else for (const socket of [pair.client, pair.server]) socket.resume()
  }

  function end({ client, server }: Pair): void {
    client.destroy()
    server.destroy()
  }

  const listener = createServer((client) => {
    const server = connect(Number(port), hostname)
    const pair: Pair = { client, server, torn: false }
    pairs.add(pair)
    client.on('data', (chunk) => server.write(chunk))
    server.on('data', (chunk) => {
      if (passage === 'deaf') pair.torn = true
      else client.write(chunk)
    })
    for (const socket of [client, server]) {
      socket.on('error', () => end(pair))
      socket.on('close', () => {
        // An end travels no further than anything else does.
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
    async close() {
      for (const pair of pairs) end(pair)
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
