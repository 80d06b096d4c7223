import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { pause } from '../eventually.ts'

/** In front of a server: a narrow line, through which it answers. */
export interface ThrottledProxy extends AsyncDisposable {
  /** host:port. */
  readonly host: string
  /** Nothing comes through from now on, and nobody is told. */
  stall(): void
}

const SLICES_PER_SECOND = 10

/** @param bytesPerSecond of all connections together */
export async function throttle(server: string, bytesPerSecond: number): Promise<ThrottledProxy> {
  const { hostname, port } = new URL(`http://${server}`)
  const sockets = new Set<Socket>()
  const sliceBytes = Math.ceil(bytesPerSecond / SLICES_PER_SECOND)
  let stalled = false
  let turn: Promise<void> = Promise.resolve()

  /** One slice at a time, of whichever connection. */
  function passOn(to: Socket, slice: Buffer): Promise<void> {
    const before = turn
    turn = before.then(async () => {
      await pause(1_000 / SLICES_PER_SECOND)
      if (!stalled && !to.destroyed) to.write(slice)
    })
    return turn
  }

  async function answer(from: Socket, to: Socket): Promise<void> {
    for await (const bytes of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < bytes.length; at += sliceBytes) await passOn(to, bytes.subarray(at, at + sliceBytes))
    }
    if (!stalled) to.end()
  }

  const listener = createServer((client) => {
    const upstream = createConnection(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    }
    client.on('data', (bytes) => upstream.write(bytes)).on('close', () => upstream.destroy())
    answer(upstream, client).catch(() => client.destroy())
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    host: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    stall: () => void (stalled = true),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}
