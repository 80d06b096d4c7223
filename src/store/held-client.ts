import { createConnection, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

const CANCEL_AGAIN_MS = 1_000

/** A connection with its turn, to be released once. */
export class HeldClient {
  readonly client: pg.PoolClient
  /** How often the database has been asked to end what the connection is doing. */
  requests = 0
  /** Whether nobody may use it after this. */
  spoilt = false
  readonly #leave: () => void
  #cancelled: Promise<void> | undefined
  #stop: (() => void) | undefined

  constructor(client: pg.PoolClient, leave: () => void) {
    this.client = client
    this.#leave = leave
  }

  /** Calls back with the size of whatever the database sends, until the returned function is called. */
  onBytes(count: (bytes: number) => void): () => void {
    const { stream } = (this.client as unknown as { connection: { stream: Socket } }).connection
    const take = (chunk: Buffer) => count(chunk.length)
    stream.on('data', take)
    return () => void stream.off('data', take)
  }

  /** Asks the database to end what the connection is doing, until it is `settled`. */
  cancel(): void {
    this.#cancelled ??= this.#cancelAgainAndAgain()
  }

  /** A request that meets the database before the statement has begun there ends nothing. */
  async #cancelAgainAndAgain(): Promise<void> {
    const stopped = new Promise<true>((resolve) => {
      this.#stop = () => resolve(true)
    })
    let isOver: boolean
    do {
      this.requests += 1
      await cancelStatement(this.client)
      isOver = await Promise.race([stopped, sleep(CANCEL_AGAIN_MS, false, { ref: false })])
    } while (!isOver)
  }

  /** What it was doing has ended: resolves once no request is on its way any more. */
  async settled(): Promise<void> {
    this.#stop?.()
    await this.#cancelled
    this.#cancelled = undefined
  }

  release(fault?: Error): void {
    this.client.release(fault ?? this.spoilt)
    this.#leave()
  }
}

const CANCEL_REQUEST_CODE = 80_877_102
/** A statement that could not be cancelled ends by its timeout. */
const WITHIN_MS = 2_000

/** What the types of pg leave out: what the database told the connection to cancel its statement with. */
interface Cancellable {
  host: string
  port: number
  processID: number
  secretKey: number
}

/**
 * Asks the database, or a pooler in between, to end what the connection is doing; it does not answer. Resolves once it
 * has been asked, or cannot be.
 */
function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Cancellable
  const request = Buffer.alloc(16)
  for (const [index, word] of [request.length, CANCEL_REQUEST_CODE, processID, secretKey].entries())
    request.writeInt32BE(word, index * 4)
  const socket = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${port}`) : createConnection({ host, port })
  const { promise, resolve } = Promise.withResolvers<void>()
  // The database closes it when it has told the process.
  socket.on('error', () => {}).once('close', () => resolve())
  socket.setTimeout(WITHIN_MS, () => socket.destroy())
  socket.resume().end(request)
  return promise
}
