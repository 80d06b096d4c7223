import { createConnection, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

const CANCEL_REPEAT_MS = 1_000

/** A checked-out connection with its place in the queue; it is released once. */
export class HeldClient {
  readonly client: pg.PoolClient
  /** Number of cancel requests sent to the database for this connection. */
  requests = 0
  /** Whether the connection must not be used again. */
  spoilt = false
  readonly #leave: () => void
  #cancelled: Promise<void> | undefined
  #stop: (() => void) | undefined

  constructor(client: pg.PoolClient, leave: () => void) {
    this.client = client
    this.#leave = leave
  }

  /** Reports the size of everything that the database sends, until the returned function is called. */
  onBytes(count: (bytes: number) => void): () => void {
    const { stream } = (this.client as unknown as { connection: { stream: Socket } }).connection
    const take = (chunk: Buffer) => count(chunk.length)
    stream.on('data', take)
    return () => void stream.off('data', take)
  }

  /** Asks the database, again and again, to cancel the running statement, until `settled` is called. */
  cancel(): void {
    this.#cancelled ??= this.#repeatCancel()
  }

  /** Repeats the request, because a request that arrives before the statement has begun has no effect. */
  async #repeatCancel(): Promise<void> {
    const stopped = new Promise<true>((resolve) => {
      this.#stop = () => resolve(true)
    })
    let isOver: boolean
    do {
      this.requests += 1
      await cancelStatement(this.client)
      isOver = await Promise.race([stopped, sleep(CANCEL_REPEAT_MS, false, { ref: false })])
    } while (!isOver)
  }

  /** Stops the requests after the statement has ended; resolves once no request is in transit. */
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
/** Time limit for cancelling a statement. After it, the statement ends by its own timeout. */
const WITHIN_MS = 2_000

/** The fields, missing from pg's types, that identify a connection in a cancel request. */
interface Cancellable {
  host: string
  port: number
  processID: number
  secretKey: number
}

/**
 * Asks the database, or a pooler in between, to cancel the running statement. There is no answer; it resolves once the
 * request was sent or cannot be.
 */
function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Cancellable
  const request = Buffer.alloc(16)
  for (const [index, word] of [request.length, CANCEL_REQUEST_CODE, processID, secretKey].entries())
    request.writeInt32BE(word, index * 4)
  const socket = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${port}`) : createConnection({ host, port })
  const { promise, resolve } = Promise.withResolvers<void>()
  // The database closes this connection when it has signalled the process.
  socket.on('error', () => {}).once('close', () => resolve())
  socket.setTimeout(WITHIN_MS, () => socket.destroy())
  socket.resume().end(request)
  return promise
}
