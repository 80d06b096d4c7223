import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { temporaryDirectory } from '../run/temporary-directory.ts'

/** In front of an engine: one that takes its time with some of what it is asked. */
export interface SlowEngine extends AsyncDisposable {
  readonly socket: string
  /** The held requests, as method and path. */
  asked(): readonly string[]
  /** The held requests that the engine has answered. */
  answered(): readonly string[]
  /**
   * The engine gets to know of the requests, whatever has become of who sent them.
   *
   * @param answered who sent them gets its answers
   */
  passOn(answered?: boolean): void
}

/** The held part: the request, so that the engine gets it only after `passOn`, or its answer for ever. */
export type Held = 'request' | 'answer' | null

const REQUEST = /^(?:GET|POST|DELETE) \S+/

/**
 * @param engine its socket
 * @param hold is asked for each request, by method and path
 */
export async function slowDown(engine: string, hold: (request: string) => Held): Promise<SlowEngine> {
  const socket = join(await temporaryDirectory('slow'), 'engine.sock')
  const sockets = new Set<Socket>()
  const held: ((answered: boolean) => void)[] = []
  const [asked, answered]: [string[], string[]] = [[], []]

  const server = createServer((client) => {
    const toEngine = createConnection(engine)
    for (const each of [client, toEngine]) {
      sockets.add(each)
      each.on('error', () => undefined).on('close', () => sockets.delete(each))
    }
    let [request, holding]: [string, Held] = ['', null]
    client.on('data', (bytes) => {
      // One at a time on a connection; its body may come behind it.
      const [line] = REQUEST.exec(bytes.toString('latin1', 0, 4096)) ?? []
      if (holding === null && line !== undefined) {
        holding = hold(line)
        request = line
        if (holding !== null) asked.push(line)
      }
      if (holding === 'request')
        held.push((isAnswered) => {
          if (isAnswered) holding = null
          toEngine.write(bytes)
        })
      else toEngine.write(bytes)
    })
    toEngine.on('data', (bytes) => {
      if (holding === null) return client.write(bytes)
      if (answered.at(-1) !== request) answered.push(request)
    })
    toEngine.on('close', () => client.destroy())
    // The engine goes on with what it was asked for.
    client.on('close', () => holding !== null || toEngine.destroy())
  })
  server.listen(socket)
  await once(server, 'listening')
  return {
    socket,
    asked: () => asked,
    answered: () => answered,
    passOn(isAnswered = false) {
      for (const send of held.splice(0)) send(isAnswered)
    },
    async [Symbol.asyncDispose]() {
      for (const each of sockets) each.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
