import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'

/** In front of an engine: one that has been asked to start a container, and takes its time. */
export interface SlowEngine extends AsyncDisposable {
  readonly socket: string
  /** How many starts it was asked for. */
  asked(): number
  /** How many of them the engine has answered. */
  answered(): number
  /** The engine gets to know of the starts, whatever has become of who asked for them. */
  passOn(): void
}

/**
 * @param holds what of a start: the request, which the engine does not get before `passOn`, or its answer, which never
 *   comes
 */
export async function slowDown(engine: string, socket: string, holds: 'request' | 'answer'): Promise<SlowEngine> {
  const sockets = new Set<Socket>()
  const held: (() => void)[] = []
  let [asked, answered] = [0, 0]

  const server = createServer((client) => {
    const toEngine = createConnection(engine)
    for (const each of [client, toEngine]) {
      sockets.add(each)
      each.on('error', () => undefined).on('close', () => sockets.delete(each))
    }
    let isStart = false
    client.on('data', (bytes) => {
      if (!/^POST \S+\/start[ ?]/.test(bytes.toString('latin1', 0, 512))) return void toEngine.write(bytes)
      isStart = true
      asked++
      if (holds === 'request') held.push(() => void toEngine.write(bytes))
      else toEngine.write(bytes)
    })
    toEngine.on('data', (bytes) => {
      if (isStart) answered++
      else client.write(bytes)
    })
    toEngine.on('close', () => client.destroy())
    // The engine goes on with what it was asked for.
    client.on('close', () => isStart || toEngine.destroy())
  })
  server.listen(socket)
  await once(server, 'listening')
  return {
    socket,
    asked: () => asked,
    answered: () => answered,
    passOn() {
      for (const send of held.splice(0)) send()
    },
    async [Symbol.asyncDispose]() {
      for (const each of sockets) each.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
