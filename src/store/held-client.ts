import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { cancelStatement } from './cancel-request.ts'

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
